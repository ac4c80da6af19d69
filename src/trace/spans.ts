import type { TraceHeaders } from "./trace-context.ts";

/** The facts of a span; undefined ones are left out. */
export type SpanFacts = Readonly<Record<string, string | number | boolean | undefined>>;

/** A span around some work. */
export interface SpanSpec {
  readonly name: string;
  /** `client`: a request to another service. */
  readonly kind: "internal" | "client";
  readonly facts: SpanFacts;
}

/** The span of a request to another service. Its path and query are left out, since they may contain a token. */
export function requestSpan(method: string, url: URL, facts: SpanFacts = {}): SpanSpec {
  const { protocol, hostname, port, host, pathname, search } = url;
  const isLong = pathname !== "/" || search !== "";
  return {
    name: method,
    kind: "client",
    facts: {
      "http.request.method": method,
      "url.full": `${protocol}//${host}/${isLong ? "REDACTED" : ""}`,
      "url.scheme": protocol.slice(0, -1),
      "server.address": hostname,
      "server.port": Number(port) || (protocol === "https:" ? 443 : 80),
      ...facts,
    },
  };
}

/** What is known once it has been answered. */
export const answeredWith = (status: number | undefined): SpanFacts => ({ "http.response.status_code": status });

/**
 * Work in a span: gets the headers that make the span the parent of others, and a function for attributes that are known later.
 */
export type SpanWork<T> = (headers: TraceHeaders, note: (facts: SpanFacts) => void) => Promise<T> | T;

/** Runs work in a span, which fails if the work does. */
export type InSpan = <T>(spec: SpanSpec, work: SpanWork<T>) => Promise<T>;

/** Where a task has it, across copies of this module, since a handler file may load another copy than the server. */
export const SPANS = Symbol.for("paihao.spans");

/** A task, which may be traced. */
interface Traceable {
  readonly traceHeaders: TraceHeaders;
  readonly [SPANS]?: InSpan | undefined;
}

/** Does some work of a task in a span, if the task is traced in this process. */
export async function inSpanOf<T>(task: Traceable, spec: SpanSpec, work: SpanWork<T>): Promise<T> {
  const inSpan = task[SPANS];
  return await (inSpan ? inSpan(spec, work) : work(task.traceHeaders, () => undefined));
}
