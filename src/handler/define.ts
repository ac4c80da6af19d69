import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { type Duration, durationWithin, LONGEST_MS, LONGEST_TIMER_MS, parseDuration } from "../config/duration.ts";
import type { Logger } from "../log.ts";
import { isQueueName } from "../task.ts";
import type { TraceHeaders } from "../telemetry/trace-context.ts";

/** What a handler gets in addition to its input. */
export interface TaskContext {
  readonly id: string;
  readonly queue: string;
  /** The number of this attempt, from 1. A lost worker does not count as an attempt. */
  readonly attempt: number;
  readonly maxAttempts: number;
  /** Grows with every reservation of the queue: pass it to a resource that must refuse late writers. */
  readonly fence: number;
  /** Fires at the timeout, on cancel, at the task's deadline, when the lease is lost and at shutdown; its `reason` says which. */
  readonly signal: AbortSignal;
  /** A log whose lines have the task's id. */
  readonly log: Logger;
  /** The query parameters of the submission, except those of the server. */
  readonly query: Readonly<Record<string, string>>;
  /** Media type of the input: `application/json`, or one that `consumes` names. */
  readonly mediaType: string;
  readonly submittedAt: Date;
  /** Name of the API key that submitted the task; null without keys. */
  readonly caller: string | null;
  /**
   * `traceparent` and `tracestate` (W3C Trace Context), to be sent with requests that belong to the task; empty if it is part of no
   * trace.
   */
  readonly traceHeaders: TraceHeaders;
  /** Reports the progress, 0–100. Not awaited; of several calls in quick succession the last wins. */
  progress(percent: number, message?: string): void;
  /**
   * Writes a JSON value, or a string for text, that callers may follow while the task runs (`/v1/requests/{id}/output`). Need not be
   * awaited: values are kept in order, and the result is stored after them. A task writes at most MAX_OUTPUT, over all attempts.
   * @throws by rejecting, which ends nothing if it is not awaited: TypeError for what is not JSON; an error when there is no room
   *   for the value, or the lease is lost
   */
  write(value: unknown): Promise<void>;
  /**
   * Does a part of the work once: its value is stored with the task, and later attempts get the stored value. The value must be
   * JSON. After a crash between the work and its storing, the work is done again: make it idempotent by `task.id`. If the
   * handler has an `undo` for the step, that is called when the task fails for good, is canceled while it runs, or its result
   * is destroyed.
   * @throws TypeError for an invalid name or a value that is not JSON; the signal's reason if it has fired
   */
  step<T>(name: string, work: () => Promise<T> | T): Promise<T>;
}

/** The task whose work is undone; `signal`, `log`, `attempt`, `maxAttempts` and `fence` are those of the undo itself. */
export type UndoTask = Pick<
  TaskContext,
  | "id"
  | "queue"
  | "attempt"
  | "maxAttempts"
  | "fence"
  | "signal"
  | "log"
  | "query"
  | "mediaType"
  | "caller"
  | "traceHeaders"
>;

/** What an undo gets in addition to the value of its step. */
export interface UndoContext<I = unknown> {
  readonly input: I;
  readonly task: UndoTask;
  /** The name of the step, since one undo may be for several. */
  readonly name: string;
}

/** A step that was done, or, if its value is undefined, may have been done. */
export interface DoneStep {
  readonly name: string;
  readonly value: unknown;
}

/** What the undo of the whole task gets. */
export interface UndoAllContext<I = unknown> {
  readonly input: I;
  readonly task: UndoTask;
  /** All steps of the task, in the order in which they began. */
  readonly steps: readonly DoneStep[];
}

/**
 * Functions that undo what a task did, by the name of the step; a step `"book:42"` is undone by `book` if there is no undo for
 * its whole name. Each is called at least once with the step's value, the last step first; with `undefined` if it is unknown
 * whether the step was done. `"*"` undoes the rest of the task, after its steps.
 */
export interface Undos<I = unknown> {
  "*"?: (context: UndoAllContext<I>) => Promise<unknown> | unknown;
  // biome-ignore lint/suspicious/noExplicitAny: each step has a value of its own type, which only the handler's author knows
  [step: string]: ((value: any, context: UndoContext<I>) => Promise<unknown> | unknown) | undefined;
}

/** What is known of a task when it is submitted. */
export type SubmittedTask = Pick<TaskContext, "id" | "queue" | "query" | "mediaType" | "caller">;

/** How a line is shared out, see {@link HandlerOptions.fair}. */
export interface FairOptions<I = unknown> {
  /** The key of a task: at most 256 bytes. Called with the validated input when the task is submitted, so it must be fast. */
  by: (input: I, task: SubmittedTask) => string;
  /** The share of a key, from 0.001 to 1000; default 1, also for what is no positive number. */
  weight?: (key: string) => number;
}

/** What a handler may return: a JSON value, bytes, a WHATWG Response, or nothing (204). */
export type HandlerResult = Response | Uint8Array | unknown;

/** Which tasks may not run beside each other, see {@link HandlerOptions.keyed}. */
export interface KeyedOptions<I = unknown> {
  /**
   * The key of a task: at most 256 bytes; null for none, so that it waits for no other. Called with the validated input when the task
   * is submitted, so it must be fast.
   */
  by: (input: I, task: SubmittedTask) => string | null;
  /** How many tasks of one key may run at once, over all workers; default 1. */
  concurrency?: number;
}

/** The options of {@link defineHandler}. Only `queue` and `run` are required. */
export interface HandlerOptions<I, R = HandlerResult, Q extends string = string, In = I> {
  /** Name of the queue: `a–z 0–9 . _ -`, 1–64 characters. */
  queue: Q;
  /** Any Standard Schema; without one, any JSON is accepted. Not used for inputs that are bytes. */
  input?: StandardSchemaV1<In, I>;
  /** Media types accepted; for others than JSON the input is a Uint8Array. Default `["application/json"]`. */
  consumes?: readonly string[];
  /** Longest time of one attempt; default: no limit. */
  timeout?: Duration;
  /** Attempts before the task is dead; default ATTEMPTS. */
  attempts?: number;
  /** Delay before attempt n + 1: `base`·2^(n−1), at most `max`, half of it random. Default 1 s and 1 m. */
  backoff?: { base?: Duration; max?: Duration };
  /** How long a task stays with a silent worker, at least 1 s; default LEASE. */
  lease?: Duration;
  /** How long the result is kept; default RESULT_TTL. */
  resultTtl?: Duration;
  /** How long after that the answer is "expired" instead of "unknown"; default TOMBSTONE_TTL. */
  tombstoneTtl?: Duration;
  /** Tasks run at once in each worker process; default CONCURRENCY. 0: none, the work is leased over HTTP. */
  concurrency?: number;
  /** How many workers a task may lose; one more and it is dead. Default 3. */
  maxLost?: number;
  /** Most tasks that may start in each span, over all workers; default: no limit. */
  rate?: { max: number; per: Duration };
  /**
   * Shares the line out among keys in proportion to their weights, instead of strictly by arrival. `true`: among callers (API
   * keys; without them, addresses).
   */
  fair?: boolean | FairOptions<I>;
  /**
   * Runs the tasks of one key one after the other, in the order of submission, also through retries; others pass them. With a
   * `concurrency` above 1, so many at once.
   */
  keyed?: KeyedOptions<I>;
  /** How long a new task should wait at most; for autoscaling: the queue's `slotsWanted` says how many slots that takes. */
  targetWait?: Duration;
  /**
   * Runs the handler in a thread of its own, for CPU-bound work: leases are still renewed meanwhile, and the thread is
   * terminated if it continues for 2 s after its signal fired. `memoryMb` limits its heap (default 1024). Only for handlers in
   * files.
   */
  isolate?: boolean | { memoryMb: number };
  run(input: I, task: TaskContext): Promise<R> | R;
  /** How to undo what the task did if it fails, is canceled, or its result is destroyed. */
  undo?: Undos<I>;
}

/** Marks handlers across copies of this module, since a handler file may load another copy than the server. */
const HANDLER = Symbol.for("paihao.handler");

/** A handler as the server uses it: checked, with durations in ms, and omitted options undefined. */
export interface Handler<I = unknown, R = HandlerResult, Q extends string = string, In = I> {
  readonly [HANDLER]: true;
  readonly queue: Q;
  /** Never set: tells the compiler what `paihao/client` sends and gets. */
  readonly types?: { readonly input: In; readonly result: R };
  readonly schema: StandardSchemaV1<unknown, I> | undefined;
  readonly consumes: readonly string[];
  readonly timeoutMs: number | undefined;
  readonly attempts: number | undefined;
  readonly backoff: { readonly baseMs: number; readonly maxMs: number };
  readonly leaseMs: number | undefined;
  readonly resultTtlMs: number | undefined;
  readonly tombstoneTtlMs: number | undefined;
  readonly concurrency: number | undefined;
  readonly maxLost: number | undefined;
  readonly rate: { readonly max: number; readonly perMs: number } | undefined;
  /** `caller`: among callers. Undefined: by arrival. Called only with inputs of this handler. */
  readonly fair: "caller" | FairOptions | undefined;
  /** Undefined: no task waits for others. Called only with inputs of this handler. */
  readonly keyed: Required<KeyedOptions> | undefined;
  readonly targetWaitMs: number | undefined;
  readonly isolate: { readonly memoryMb: number } | undefined;
  run(input: I, task: TaskContext): Promise<R> | R;
  /** Undefined if nothing can be undone. Called only for tasks of this handler, so that their input has its type. */
  readonly undo: Undos | undefined;
}

/** Defaults of options that the environment does not set. */
export const HANDLER_DEFAULTS = {
  backoffBaseMs: 1000,
  backoffMaxMs: 60_000,
  maxLost: 3,
  isolateMemoryMb: 1024,
} as const;

/** The store remembers at most this many starts of a queue. */
const RATE_MOST = 10_000;

/** Most tasks of one key that run at once. */
const MOST_OF_A_KEY = 10_000;

const MEDIA_RANGE = /^(?:\*\/\*|[a-z0-9!#$&^_.+-]+\/(?:\*|[a-z0-9!#$&^_.+-]+))$/;
/** The prefix of the server's own queues. */
const RESERVED_PREFIX = "paihao.";
/** The server's own queues; the Lua files put tasks into them by these names. */
export const INTERNAL_QUEUES = { webhooks: "paihao.webhooks", undo: "paihao.undo" } as const;

/** Whether a queue is one of the server's own. */
export function isInternalQueue(queue: string): boolean {
  return queue.startsWith(RESERVED_PREFIX);
}

const internal = new WeakSet<object>();

/** Declares a handler of the server's own, whose queue has a reserved name. */
export function defineInternalHandler<I>(options: HandlerOptions<I>): Handler<I> {
  internal.add(options);
  return defineHandler(options);
}

/**
 * Declares the handler of a queue. Its types are inferred: the input that callers send (`In`) and `run` gets (`I`), the result
 * (`R`) and the queue's name (`Q`), so that a client can be typed by it.
 * @throws TypeError that names the option, its value and what was expected
 */
export function defineHandler<I = unknown, R = HandlerResult, Q extends string = string, In = I>(
  options: HandlerOptions<I, R, Q, In>,
): Handler<I, R, Q, In> {
  const { queue } = options;
  const wrong = (option: string, value: unknown, expected: string) =>
    new TypeError(
      `handler of queue ${JSON.stringify(queue)}: ${option} is ${JSON.stringify(value)}, expected ${expected}`,
    );
  const duration = (option: string, value: Duration | undefined, minMs = 1, maxMs = LONGEST_MS): number | undefined => {
    if (value === undefined) return undefined;
    const ms = parseDuration(value);
    if (ms === undefined || ms < minMs || ms > maxMs) {
      throw wrong(option, value, durationWithin(minMs, maxMs));
    }
    return ms;
  };
  const count = (option: string, value: number | undefined, min: number, max = 1_000_000): number | undefined => {
    if (value !== undefined && !(Number.isInteger(value) && value >= min && value <= max)) {
      throw wrong(option, value, `a whole number from ${min} to ${max}`);
    }
    return value;
  };

  if (typeof queue !== "string" || !isQueueName(queue)) {
    throw wrong("queue", queue, "1–64 characters of a–z 0–9 . _ -, the first a letter or digit");
  }
  if (isInternalQueue(queue) && !internal.has(options))
    throw wrong("queue", queue, `a name that does not start with "${RESERVED_PREFIX}"`);
  if (typeof options.run !== "function") throw wrong("run", options.run, "a function");
  if (options.input !== undefined && typeof options.input?.["~standard"]?.validate !== "function") {
    throw wrong("input", options.input, "a Standard Schema, such as z.object({…}) of zod");
  }
  const consumes = options.consumes ?? ["application/json"];
  if (
    !Array.isArray(consumes) ||
    consumes.length === 0 ||
    !consumes.every((c) => MEDIA_RANGE.test(String(c).toLowerCase()))
  ) {
    throw wrong("consumes", consumes, 'media types such as ["application/json"] or ["image/*"]');
  }

  const isolation = (value: HandlerOptions<I, R>["isolate"]): Handler["isolate"] => {
    if (value === undefined || value === false) return undefined;
    if (value === true) return { memoryMb: HANDLER_DEFAULTS.isolateMemoryMb };
    if (typeof value !== "object" || value === null) throw wrong("isolate", value, "true, false or { memoryMb }");
    return { memoryMb: count("isolate.memoryMb", value.memoryMb, 16) ?? HANDLER_DEFAULTS.isolateMemoryMb };
  };

  const fairness = (value: HandlerOptions<I>["fair"]): Handler["fair"] => {
    if (value === undefined || value === false) return undefined;
    if (value === true) return "caller";
    if (typeof value !== "object" || value === null || typeof value.by !== "function") {
      throw wrong("fair", value, "true, false or { by: (input, task) => key, weight?: (key) => number }");
    }
    const { by, weight } = value;
    if (weight !== undefined && typeof weight !== "function")
      throw wrong("fair.weight", weight, "a function of the key");
    // The handler's schema makes its input.
    return { by: (input, task) => by(input as I, task), ...(weight && { weight }) };
  };

  const keys = (value: HandlerOptions<I>["keyed"]): Handler["keyed"] => {
    if (value === undefined) return undefined;
    if (typeof value !== "object" || value === null || typeof value.by !== "function") {
      throw wrong("keyed", value, "{ by: (input, task) => key or null, concurrency?: 1 }");
    }
    const { by, concurrency } = value;
    return {
      by: (input, task) => by(input as I, task),
      concurrency: count("keyed.concurrency", concurrency, 1, MOST_OF_A_KEY) ?? 1,
    };
  };

  const undos = (value: HandlerOptions<I>["undo"]): Undos | undefined => {
    if (value === undefined) return undefined;
    if (typeof value !== "object" || value === null) {
      const given = typeof value === "function" ? "a function" : JSON.stringify(value);
      throw new TypeError(
        `handler of queue ${JSON.stringify(queue)}: undo is ${given}, expected an object of functions by the name of the step: ` +
          '{ book: (booking, { input, task }) => …, "*": ({ input, task, steps }) => … }',
      );
    }
    const named = Object.entries(value).filter(([, undo]) => undo !== undefined);
    for (const [name, undo] of named) {
      if (typeof undo !== "function") throw wrong(`undo[${JSON.stringify(name)}]`, undo, "a function");
    }
    return named.length === 0 ? undefined : (Object.freeze(Object.fromEntries(named)) as Undos);
  };

  const baseMs = duration("backoff.base", options.backoff?.base) ?? HANDLER_DEFAULTS.backoffBaseMs;
  return {
    [HANDLER]: true,
    queue,
    schema: options.input,
    consumes: consumes.map((c) => c.toLowerCase()),
    timeoutMs: duration("timeout", options.timeout, 1, LONGEST_TIMER_MS),
    attempts: count("attempts", options.attempts, 1),
    backoff: {
      baseMs,
      maxMs: Math.max(baseMs, duration("backoff.max", options.backoff?.max) ?? HANDLER_DEFAULTS.backoffMaxMs),
    },
    leaseMs: duration("lease", options.lease, 1000, LONGEST_TIMER_MS),
    resultTtlMs: duration("resultTtl", options.resultTtl),
    tombstoneTtlMs: duration("tombstoneTtl", options.tombstoneTtl),
    concurrency: count("concurrency", options.concurrency, 0),
    maxLost: count("maxLost", options.maxLost, 0),
    rate: options.rate && {
      max: count("rate.max", options.rate.max, 1, RATE_MOST) ?? 1,
      perMs: duration("rate.per", options.rate.per) ?? 1000,
    },
    fair: fairness(options.fair),
    keyed: keys(options.keyed),
    targetWaitMs: duration("targetWait", options.targetWait),
    isolate: isolation(options.isolate),
    run: (input, task) => options.run(input, task),
    undo: undos(options.undo),
  };
}

/** The undo of a step: that of its whole name, else that of the part before its first colon; undefined if there is none. */
export function undoOf(handler: Pick<Handler, "undo">, step: string): Undos[string] {
  const { undo } = handler;
  if (undo === undefined) return undefined;
  const [kind = ""] = step.split(":", 1);
  // "*" is not a step, and a step may have the name of a property that every object inherits.
  const name = [step, kind].find((one) => one !== "*" && Object.hasOwn(undo, one));
  return name === undefined ? undefined : undo[name];
}

/** Whether a value was made by {@link defineHandler}, of this copy of the module or another. */
export function isHandler(value: unknown): value is Handler {
  return typeof value === "object" && value !== null && (value as Record<symbol, unknown>)[HANDLER] === true;
}

/** The JSON Schema (2020-12) of the input of a handler; null if its schema library cannot generate one. */
export function inputJsonSchema(handler: Handler): Record<string, unknown> | null {
  const standard = handler.schema?.["~standard"] as Partial<StandardJSONSchemaV1["~standard"]> | undefined;
  try {
    return standard?.jsonSchema?.input({ target: "draft-2020-12" }) ?? null;
  } catch {
    // Some schemas (a transform, a custom check) have no JSON Schema, although they validate.
    return null;
  }
}

/** Whether a handler takes a media type (without parameters, in lower case). */
export function consumesType(handler: Handler, mediaType: string): boolean {
  return handler.consumes.some(
    (range) =>
      range === "*/*" || range === mediaType || (range.endsWith("/*") && mediaType.startsWith(range.slice(0, -1))),
  );
}
