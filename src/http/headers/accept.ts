import { splitField, trimField } from "./fields.ts";

// How specific a matching media range is (RFC 9110 §12.5.1).
const FIT = { exact: 3, type: 2, any: 1 } as const;

/**
 * The weight of a media type in an Accept header, 0–1: that of the most specific matching range (RFC 9110 §12.4.2, §12.5.1).
 */
export function weightOf(accept: string, mediaType: string): number {
  if (trimField(accept) === "") return 1;
  const type = mediaType.slice(0, mediaType.indexOf("/"));
  let best = { fit: 0, weight: 0 };
  for (const element of splitField(accept, ",")) {
    const [range = "", ...parameters] = splitField(element, ";").map((part) => trimField(part).toLowerCase());
    const fit = range === mediaType ? FIT.exact : range === `${type}/*` ? FIT.type : range === "*/*" ? FIT.any : 0;
    if (fit > best.fit) best = { fit, weight: weightIn(parameters) };
  }
  return best.weight;
}

/** Whether HTML is preferred to JSON: true for a browser, false for a client that accepts anything. */
export function prefersHtml(accept: string): boolean {
  return weightOf(accept, "text/html") > weightOf(accept, "application/json");
}

function weightIn(parameters: readonly string[]): number {
  for (const parameter of parameters) {
    const value = /^q=(.*)$/.exec(parameter)?.[1];
    if (value !== undefined) return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(value) ? Number(value) : 0;
  }
  return 1;
}
