import type { TraceHeaders } from "./trace-context.ts";

/** Creates the spans of tasks. The core has none: see src/extras/telemetry. */
export interface Tracing {
  /** Submits a task in a span, whose trace goes with the task. */
  send<T extends { readonly verdict: string }>(
    task: { readonly id: string; readonly queue: string },
    submit: (trace: string) => Promise<T>,
  ): Promise<T>;
  /** Begins to submit many tasks in one span. */
  sendBatch(queue: string): BatchTrace;
  /** Begins the span of an attempt. */
  attempt(task: TracedTask): AttemptTrace;
}

/** The trace of a batch. */
export interface BatchTrace {
  /** That of each of its tasks. */
  readonly trace: string;
  /** Another task belongs to it. */
  add(): void;
  end(): void;
}

/** An attempt at a task, as its worker gets it. */
export interface TracedTask {
  readonly id: string;
  readonly queue: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly lost: number;
  /** The trace of its submitter, "" for none. */
  readonly trace: string;
}

/** The trace of an attempt. */
export interface AttemptTrace {
  /** Its stored form, which makes the attempt the parent of other spans. */
  readonly trace: string;
  /** Runs the attempt. */
  run(work: () => void): void;
  /** Runs a part of the attempt in a span. */
  readonly inSpan: InSpan;
  /**
   * The handler has ended.
   * @param how `result`, or why it did not succeed
   */
  ended(how: string, error: AttemptError | undefined): void;
  /** The end is stored, with this outcome for the task. */
  stored(verdict: string): void;
  /** The attempt is over; its span ends where the handler did. */
  over(): void;
}

/** Why an attempt did not succeed: the error, as far as it is known. */
export interface AttemptError {
  readonly type?: string;
  readonly message: string;
  readonly stack?: string;
}

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
