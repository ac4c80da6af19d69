import {
  type Attributes,
  type Context,
  context,
  createTraceState,
  INVALID_TRACEID,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import type { Context as RequestContext } from "koa";
import { messageOf } from "../../errors.ts";
import { schemeOf } from "../../http/request/forwarded.ts";
import { routeOf } from "../../http/route.ts";
import { useTraceIds } from "../../log.ts";
import { traceHeadersOf, traceOf } from "../../trace/trace-context.ts";
import type {
  AttemptError,
  AttemptTrace,
  BatchTrace,
  InSpan,
  SpanFacts,
  SpanSpec,
  SpanWork,
  TracedTask,
  Tracing,
} from "../../trace/tracing.ts";

/** The name under which spans are created. */
const SCOPE = "paihao";
/** Longest user agent that is kept, characters. */
const AGENT_LENGTH = 256;

/** The address of the store, by the semantic conventions. */
export interface ServerFacts {
  readonly "server.address": string;
  /** Undefined: a socket. */
  readonly "server.port"?: number;
}

/**
 * What creates the spans of a server; undefined, so that nothing costs anything, if no SDK of OpenTelemetry is registered in this process.
 * @param store the address of the store
 */
export function openTracing(version: string, store: ServerFacts): ServerTracing | undefined {
  const provider = trace.getTracerProvider();
  // That of another copy of the API is of another class.
  if (provider instanceof ProxyTracerProvider && provider.getDelegateTracer(SCOPE) === undefined) return undefined;
  useTraceIds(traceIds);
  return new ServerTracing(trace.getTracer(SCOPE, version), store);
}

/**
 * Creates the spans of a server, by the semantic conventions for HTTP and messaging. The functions called for each request are not async:
 * while contexts are kept, each promise costs about a µs.
 */
export class ServerTracing implements Tracing {
  readonly #tracer: Tracer;
  readonly #store: ServerFacts;

  constructor(tracer: Tracer, store: ServerFacts) {
    this.#tracer = tracer;
    this.#store = store;
  }

  /** Answers a request in a span. The query is left out: it may contain a signature. */
  request(ctx: RequestContext, work: () => Promise<unknown>): Promise<unknown> {
    const { method, path } = ctx;
    const scheme = schemeOf(ctx);
    // The application that embeds the server, or an instrumentation of HTTP, may already have a span for the request.
    const isInner = trace.getActiveSpan() !== undefined;
    const above = isInner ? context.active() : contextOf(traceOf(ctx.headers));
    const attributes = {
      "http.request.method": method,
      "url.path": path,
      "url.scheme": scheme,
      "server.address": ctx.hostname,
      "server.port": Number(/:(\d+)$/.exec(ctx.host)?.[1] ?? (scheme === "https" ? 443 : 80)),
      "user_agent.original": ctx.headers["user-agent"]?.slice(0, AGENT_LENGTH),
    };
    const kind = isInner ? SpanKind.INTERNAL : SpanKind.SERVER;
    const span = this.#tracer.startSpan(method, { kind, attributes }, above);
    const inside = trace.setSpan(above, span);
    if (!span.isRecording()) return context.with(inside, work);
    const end = () => {
      const status = ctx.res.statusCode;
      const route = routeOf(ctx)?.path ?? "";
      span.setAttribute("http.response.status_code", status);
      if (route !== "") span.updateName(`${method} ${route}`).setAttribute("http.route", route);
      if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR }).setAttribute("error.type", String(status));
      span.end();
    };
    return context.with(inside, work).then(end, (error: unknown) => {
      end();
      throw error;
    });
  }

  /** Submits a task in a span, whose trace goes with the task; in a request that is not sampled, its trace goes with the task. */
  send<T extends { readonly verdict: string }>(
    { id, queue }: { readonly id: string; readonly queue: string },
    submit: (trace: string) => Promise<T>,
  ): Promise<T> {
    const above = unsampled();
    if (above) return submit(traceOfSpan(above));
    const span = this.#send(queue, { "messaging.message.id": id });
    return submit(traceOfSpan(span)).then(
      (known) => {
        span.setAttribute("paihao.verdict", known.verdict).end();
        return known;
      },
      (error: unknown) => {
        fail(span, error);
        span.end();
        throw error;
      },
    );
  }

  /** Begins to submit many tasks in one span. */
  sendBatch(queue: string): BatchTrace {
    return new BatchSpan(unsampled() ?? this.#send(queue));
  }

  #send(queue: string, facts: Attributes = {}): Span {
    const attributes = { ...this.#operation("send", queue), ...facts };
    return this.#tracer.startSpan(`send ${queue}`, { kind: SpanKind.PRODUCER, attributes });
  }

  /** Begins the span of an attempt: below the one that sent the task, so that one trace shows all of it, and linked to that. */
  attempt(task: TracedTask): AttemptTrace {
    const { id, queue, attempt, maxAttempts, lost } = task;
    // The current context may belong to another task, whose end made room for this one.
    const above = contextOf(task.trace);
    const sent = trace.getSpanContext(above);
    const attributes = {
      ...this.#operation("process", queue),
      "messaging.message.id": id,
      "paihao.task.attempt": attempt,
      "paihao.task.max_attempts": maxAttempts,
      "paihao.task.losses": lost,
    };
    const options: SpanOptions = { kind: SpanKind.CONSUMER, attributes, links: sent ? [{ context: sent }] : [] };
    const span = this.#tracer.startSpan(`process ${queue}`, options, above);
    return new AttemptSpan(this.#tracer, span, trace.setSpan(above, span));
  }

  #operation(name: "send" | "process", queue: string): Attributes {
    return {
      "messaging.system": "paihao",
      "messaging.operation.name": name,
      "messaging.operation.type": name,
      "messaging.destination.name": queue,
      ...this.#store,
    };
  }
}

/** The trace of a batch. */
class BatchSpan implements BatchTrace {
  readonly #span: Span;
  #count = 0;

  constructor(span: Span) {
    this.#span = span;
  }

  /** That of each of its tasks. */
  get trace(): string {
    return traceOfSpan(this.#span);
  }

  /** Another task belongs to it. */
  add(): void {
    this.#count += 1;
  }

  end(): void {
    this.#span.setAttribute("messaging.batch.message_count", this.#count).end();
  }
}

/** The trace of an attempt. */
class AttemptSpan implements AttemptTrace {
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
  ended(how: string, error: AttemptError | undefined): void {
    this.#endedAt = Date.now();
    this.#span.setAttribute("paihao.task.end", how);
    if (how === "result") return;
    this.#span.setAttribute("error.type", how);
    this.#span.setStatus({ code: SpanStatusCode.ERROR, ...(error && { message: error.message }) });
    if (error) {
      const { type = how, message, stack } = error;
      this.#span.recordException({ name: type, message, ...(stack !== undefined && { stack }) });
    }
  }

  /** The end is stored, with this outcome for the task. */
  stored(verdict: string): void {
    this.#span.setAttribute("paihao.task.verdict", verdict);
  }

  /** The attempt is over; its span ends where the handler did. */
  over(): void {
    this.#span.end(this.#endedAt);
  }
}

/** The ids of the current trace and span, for log lines; undefined if there are none. */
function traceIds(): { trace_id: string; span_id: string } | undefined {
  const span = trace.getActiveSpan()?.spanContext();
  return span && { trace_id: span.traceId, span_id: span.spanId };
}

/**
 * The current span if it is not sampled: with the SDK's own samplers, a span below it would not be either, and an accept would cost more
 * (`npm run bench -- tracing`). A span that has ended no longer records, but may be sampled.
 */
function unsampled(): Span | undefined {
  const span = trace.getActiveSpan();
  const isSampled = span?.isRecording() || ((span?.spanContext().traceFlags ?? 0) & TraceFlags.SAMPLED) !== 0;
  return isSampled ? undefined : span;
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

/** The stored form of the trace of a span; "" if it has none. */
function traceOfSpan(span: Span): string {
  const seen = span.spanContext();
  if (seen.traceId === INVALID_TRACEID) return "";
  const parent = `00-${seen.traceId}-${seen.spanId}-0${seen.traceFlags & 3}`;
  const state = seen.traceState?.serialize() ?? "";
  return state === "" ? parent : `${parent} ${state}`;
}

function fail(span: Span, error: unknown): void {
  span.setAttribute("error.type", error instanceof Error ? error.name : "error");
  span.setStatus({ code: SpanStatusCode.ERROR, message: messageOf(error) });
}
