import { type Context, createTraceState, INVALID_TRACEID, ROOT_CONTEXT, type Span, trace } from "@opentelemetry/api";

/** The context in which a stored trace is the parent. A stored trace is valid, with every part at a fixed position. */
export function contextOf(stored: string): Context {
  if (stored === "") return ROOT_CONTEXT;
  const state = stored.slice(56);
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId: stored.slice(3, 35),
    spanId: stored.slice(36, 52),
    traceFlags: Number(stored[54]),
    isRemote: true,
    ...(state !== "" && { traceState: createTraceState(state) }),
  });
}

/** The stored form of the trace of a span; "" if it has none. */
export function traceOfSpan(span: Span): string {
  const seen = span.spanContext();
  if (seen.traceId === INVALID_TRACEID) return "";
  const parent = `00-${seen.traceId}-${seen.spanId}-0${seen.traceFlags & 3}`;
  const state = seen.traceState?.serialize() ?? "";
  return state === "" ? parent : `${parent} ${state}`;
}
