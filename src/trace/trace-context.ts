/** The headers of W3C Trace Context, to be sent with a request; none of them if there is no trace. */
export interface TraceHeaders {
  readonly traceparent?: string;
  readonly tracestate?: string;
}

/** Limits of tracestate (W3C Trace Context §3.3.1). */
const STATE = { members: 32, length: 512, longMember: 128 } as const;

const PARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const MEMBER =
  /^(?:[a-z0-9][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/**
 * The trace of a request as it is stored: traceparent, then, if there is one, a space and tracestate; "" without a valid
 * traceparent, as if there were none (W3C Trace Context §3.2.2.3, §4.3).
 */
export function traceOf(headers: Readonly<Record<string, string | string[] | undefined>>): string {
  const { traceparent } = headers;
  if (traceparent === undefined) return "";
  const parent = parentOf(String(traceparent));
  if (parent === "") return "";
  const state = stateOf(String(headers.tracestate ?? ""));
  return state === "" ? parent : `${parent} ${state}`;
}

/** The headers of a stored trace. */
export function traceHeadersOf(trace: string): TraceHeaders {
  if (trace === "") return {};
  const space = trace.indexOf(" ");
  if (space < 0) return { traceparent: trace };
  return { traceparent: trace.slice(0, space), tracestate: trace.slice(space + 1) };
}

/** A traceparent in the version that we know; "" if it is invalid. */
function parentOf(given: string): string {
  const [, version = "ff", traceId = "", spanId = "", flags = "", more] = PARENT.exec(given) ?? [];
  if (version === "ff" || (version === "00" && more !== undefined)) return "";
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return "";
  // Only the flags `sampled` and `random` are known.
  return `00-${traceId}-${spanId}-0${Number.parseInt(flags, 16) & 3}`;
}

/** A tracestate within its limits; "" if it is invalid. */
function stateOf(given: string): string {
  const members = given
    .split(",")
    .map((member) => member.trim())
    .filter((member) => member !== "");
  if (members.length > STATE.members || !members.every((member) => MEMBER.test(member))) return "";
  // Long members are dropped first, then the oldest ones, which are last.
  let kept = members;
  if (lengthOf(kept) > STATE.length) kept = kept.filter((member) => member.length <= STATE.longMember);
  while (lengthOf(kept) > STATE.length) kept = kept.slice(0, -1);
  return kept.join(",");
}

const lengthOf = (members: readonly string[]): number => members.reduce((sum, member) => sum + member.length + 1, -1);
