import {
  type Attributes,
  type Context,
  context,
  createTraceState,
  INVALID_TRACEID,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { messageOf } from "../errors.ts";
import { scope } from "../log.ts";
import type { Sampling } from "./sampling.ts";
import type { InSpan, SpanFacts, SpanSpec, SpanWork } from "./spans.ts";
import { SCOPE, traceHeadersOf } from "./trace-context.ts";

/** The names of operations in attributes (semantic conventions for messaging). */
const SYSTEM = "paihao";

/** The operation of a request that submits a task, by the same conventions. */
const SUBMITS = { "messaging.operation.name": "submit", "messaging.operation.type": "send" } as const;

/** A request, as it is when it arrives. */
export interface TracedRequest {
  readonly method: string;
  readonly path: string;
  readonly scheme: string;
  readonly userAgent: string | undefined;
  /** The trace of its sender, "" for none. */
  readonly trace: string;
}

/** How a request was answered. */
export interface TracedAnswer {
  /** "" if there is none. */
  readonly route: string;
  readonly status: number;
}

/** An attempt at a task, as its worker gets it. */
export interface TracedTask {
  readonly id: string;
  readonly queue: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly lost: number;
  readonly createdMs: number;
  /** The trace of its submitter, "" for none. */
  readonly trace: string;
}

/** Our own SDK's tracer, whose sampling decision can be asked for. */
export interface OwnTracer {
  readonly tracer: Tracer;
  readonly sampling: Sampling;
}

/**
 * Creates the spans of a server. Loaded only if spans are used. The functions called for each request are not async: while
 * contexts are kept, each promise costs about a µs.
 */
export class Tracing {
  readonly #tracer: Tracer;
  readonly #sampling: Sampling | undefined;

  /** @param own default: the tracer of the provider that the application has registered, whose sampler decides */
  constructor(version: string, own?: OwnTracer) {
    this.#tracer = own?.tracer ?? trace.getTracer(SCOPE, version);
    this.#sampling = own?.sampling;
  }

  /** Answers a request in a span of the server, if its trace is recorded. */
  request(request: TracedRequest, work: () => Promise<unknown>, answered: () => TracedAnswer): Promise<unknown> {
    // An application that embeds the server may already have a span for the request.
    const above = trace.getActiveSpan() && context.active();
    const passedOn = above ? undefined : this.#sampling?.passedOn(request.trace);
    if (passedOn !== undefined) {
      const now = scope();
      if (now) now.trace = passedOn;
      return work();
    }
    return this.#record(request, above ?? contextOf(request.trace), work, answered);
  }

  #record(
    { method, path, scheme, userAgent }: TracedRequest,
    above: Context,
    work: () => Promise<unknown>,
    answered: () => TracedAnswer,
  ): Promise<unknown> {
    const attributes = {
      "http.request.method": method,
      "url.path": path,
      "url.scheme": scheme,
      "user_agent.original": userAgent,
    };
    const span = this.#tracer.startSpan(method, { kind: SpanKind.SERVER, attributes }, above);
    const end = () => {
      const { route, status } = answered();
      span.setAttribute("http.response.status_code", status);
      if (route !== "") span.updateName(`${method} ${route}`).setAttribute("http.route", route);
      if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR }).setAttribute("error.type", String(status));
      span.end();
    };
    return context.with(trace.setSpan(above, span), work).then(end, (error: unknown) => {
      end();
      throw error;
    });
  }

  /** The current trace in its stored form; "" if nothing is traced. */
  current(): string {
    return traceOfSpan(trace.getActiveSpan()) || (scope()?.trace ?? "");
  }

  /** Records in the span of a request that it submits a task: a separate span would last as long and double the cost. */
  submitted<T extends { readonly verdict: string }>(
    { id, queue }: { readonly id: string; readonly queue: string },
    sent: Promise<T>,
  ): Promise<T> {
    const span = trace.getActiveSpan();
    if (!span?.isRecording()) return sent;
    span.setAttributes(taskFacts(id, queue)).setAttributes(SUBMITS);
    return sent.then((known) => {
      span.setAttribute("paihao.verdict", known.verdict);
      return known;
    });
  }

  /** Begins the span of an attempt. For the first attempt, the wait in line gets its own span. */
  attempt(task: TracedTask): AttemptTrace {
    const passedOn = this.#sampling?.passedOn(task.trace);
    const parent = passedOn === undefined ? undefined : contextOf(passedOn);
    const unrecorded = parent && trace.getSpan(parent);
    if (parent && unrecorded) return new AttemptTrace(this.#tracer, unrecorded, parent);
    const { id, queue, attempt, maxAttempts, lost, createdMs } = task;
    // The current context may belong to another task, whose end made room for this one.
    const above = contextOf(task.trace);
    const now = Date.now();
    const start = (name: string, options: SpanOptions) => this.#tracer.startSpan(name, options, above);
    if (attempt === 1 && lost === 0) {
      // The time of submission is that of the store, whose clock may be ahead.
      const waited = { attributes: taskFacts(id, queue), startTime: Math.min(createdMs, now) };
      start(`wait ${queue}`, waited).end(now);
    }
    const attributes = {
      ...taskFacts(id, queue),
      "messaging.operation.name": "process",
      "messaging.operation.type": "process",
      "paihao.task.attempt": attempt,
      "paihao.task.max_attempts": maxAttempts,
      "paihao.task.losses": lost,
    };
    const span = start(`process ${queue}`, { kind: SpanKind.CONSUMER, attributes, startTime: now });
    return new AttemptTrace(this.#tracer, span, trace.setSpan(above, span));
  }
}

/** The trace of an attempt. */
export class AttemptTrace {
  readonly #tracer: Tracer;
  readonly #span: Span;
  readonly #context: Context;
  #endedAt: number | undefined;

  constructor(tracer: Tracer, span: Span, context: Context) {
    this.#tracer = tracer;
    this.#span = span;
    this.#context = context;
  }

  /** Its stored form, which makes the attempt the parent of other spans. */
  get trace(): string {
    return traceOfSpan(this.#span);
  }

  /** Runs the attempt. */
  run(work: () => void): void {
    context.with(this.#context, work);
  }

  /** Runs a part of the attempt in a span. */
  readonly inSpan: InSpan = async <T>({ name, kind, facts }: SpanSpec, work: SpanWork<T>): Promise<T> => {
    const options = { kind: kind === "client" ? SpanKind.CLIENT : SpanKind.INTERNAL, attributes: facts };
    // Its parent is the current span if there is one, e.g. of a step; a handler's later calls may have lost it.
    const above = trace.getSpan(context.active()) ? context.active() : this.#context;
    const span = this.#tracer.startSpan(name, options, above);
    const note = (later: SpanFacts) => {
      span.setAttributes(later);
      const status = later["http.response.status_code"];
      if (kind === "client" && Number(status) >= 400) {
        span.setStatus({ code: SpanStatusCode.ERROR }).setAttribute("error.type", String(status));
      }
    };
    try {
      return await context.with(trace.setSpan(above, span), () => work(traceHeadersOf(traceOfSpan(span)), note));
    } catch (error) {
      fail(span, error);
      throw error;
    } finally {
      span.end();
    }
  };

  /**
   * The handler has ended.
   * @param how `result`, or why it did not succeed
   */
  ended(how: string, message: string | undefined): void {
    this.#endedAt = Date.now();
    this.#span.setAttribute("paihao.task.end", how);
    if (how === "result") return;
    this.#span.setAttribute("error.type", how);
    this.#span.setStatus({ code: SpanStatusCode.ERROR, ...(message !== undefined && { message }) });
  }

  /** The store has reported the outcome for the task. */
  told(verdict: string): void {
    this.#span.setAttribute("paihao.task.verdict", verdict);
  }

  /** The attempt is over; its span ends where the handler did. */
  over(): void {
    this.#span.end(this.#endedAt);
  }
}

/** The ids of the current trace and span, for log lines; undefined if nothing is traced. */
export function traceIds(): { trace_id: string; span_id: string } | undefined {
  const span = trace.getActiveSpan()?.spanContext();
  if (span) return { trace_id: span.traceId, span_id: span.spanId };
  const stored = scope()?.trace;
  return stored === undefined ? undefined : { trace_id: stored.slice(3, 35), span_id: stored.slice(36, 52) };
}

const taskFacts = (id: string, queue: string): Attributes => ({
  "messaging.system": SYSTEM,
  "messaging.destination.name": queue,
  "messaging.message.id": id,
});

function fail(span: Span, error: unknown): void {
  span.setAttribute("error.type", error instanceof Error ? error.name : "error");
  span.setStatus({ code: SpanStatusCode.ERROR, message: messageOf(error) });
}

/** The context in which a stored trace is the parent. A stored trace is valid, with every part at a fixed position. */
function contextOf(stored: string): Context {
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

function traceOfSpan(span: Span | undefined): string {
  const seen = span?.spanContext();
  if (!seen || seen.traceId === INVALID_TRACEID) return "";
  const parent = `00-${seen.traceId}-${seen.spanId}-0${seen.traceFlags & 3}`;
  const state = seen.traceState?.serialize() ?? "";
  return state === "" ? parent : `${parent} ${state}`;
}
