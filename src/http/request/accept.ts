import { splitField, trimField } from "../../wire/request.ts";

// How specific a matching media range is (RFC 9110 §12.5.1).
const FIT = { exact: 3, type: 2, any: 1 } as const;

const EVENTS = "text/event-stream";
/** The least difference between two weights (RFC 9110 §12.4.2). */
const MIN_WEIGHT = 0.001;

/**
 * The weight of a media type in an Accept header, 0–1: that of the most specific matching range (RFC 9110 §12.4.2, §12.5.1).
 */
export function weightOf(accept: string, mediaType: string): number {
  if (trimField(accept) === "") return 1;
  const type = mediaType.slice(0, mediaType.indexOf("/"));
  let best = { fit: 0, weight: 0 };
  for (const { range, weight } of rangesOf(accept)) {
    const fit = range === mediaType ? FIT.exact : range === `${type}/*` ? FIT.type : range === "*/*" ? FIT.any : 0;
    if (fit > best.fit) best = { fit, weight };
  }
  return best.weight;
}

/** Whether HTML is preferred to JSON: true for a browser, false for a client that accepts anything. */
export function prefersHtml(accept: string): boolean {
  return weightOf(accept, "text/html") > weightOf(accept, "application/json");
}

/**
 * Whether events are preferred to everything else that is accepted: they must be named and weigh more than all other ranges. At
 * the same weight the more specific range wins.
 */
export function prefersEvents(accept: string): boolean {
  if (!accept.toLowerCase().includes(EVENTS)) return false;
  let [events, rival] = [0, 0];
  for (const { range, weight } of rangesOf(accept)) {
    if (range === EVENTS) events = Math.max(events, weight);
    // A less specific range loses against an equal weight.
    else if (range !== "") rival = Math.max(rival, range.endsWith("/*") ? weight - MIN_WEIGHT / 2 : weight);
  }
  return events > Math.max(0, rival);
}

function rangesOf(accept: string): { range: string; weight: number }[] {
  return splitField(accept, ",").map((element) => {
    const [range = "", ...parameters] = splitField(element, ";").map((part) => trimField(part).toLowerCase());
    return { range, weight: weightIn(parameters) };
  });
}

function weightIn(parameters: readonly string[]): number {
  for (const parameter of parameters) {
    const value = /^q=(.*)$/.exec(parameter)?.[1];
    if (value !== undefined) return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(value) ? Number(value) : 0;
  }
  return 1;
}
