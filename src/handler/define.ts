import type { StandardSchemaV1 } from "@standard-schema/spec";
import { type Duration, durationWithin, LONGEST_MS, LONGEST_TIMER_MS, parseDuration } from "../config/duration.ts";
import { hint } from "../nearest.ts";
import { isQueueName } from "../task.ts";
import { isInternalQueue, RESERVED_PREFIX } from "./internal-queues.ts";
import type { SubmittedTask, TaskContext } from "./task-context.ts";
import type { Undos } from "./undos.ts";

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

/** All options, with the names below them; of `undo` these are names of steps. */
const OPTIONS = {
  queue: [],
  input: [],
  consumes: [],
  timeout: [],
  attempts: [],
  backoff: ["base", "max"],
  lease: [],
  resultTtl: [],
  tombstoneTtl: [],
  concurrency: [],
  maxLost: [],
  rate: ["max", "per"],
  fair: ["by", "weight"],
  keyed: ["by", "concurrency"],
  targetWait: [],
  isolate: ["memoryMb"],
  run: [],
  undo: [],
} as const satisfies Record<keyof HandlerOptions<unknown>, readonly string[]>;

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

  // Further names are members of the handler's own, which `run` has as `this`.
  const refuseMisspelt = (given: object, names: readonly string[], above = "") => {
    for (const name of Object.keys(given)) {
      const meant = names.includes(name) ? "" : hint(name, names);
      if (meant === "") continue;
      throw new TypeError(`handler of queue ${JSON.stringify(queue)}: there is no option "${above}${name}"${meant}`);
    }
  };

  refuseMisspelt(options, Object.keys(OPTIONS));
  for (const [option, names] of Object.entries<readonly string[]>(OPTIONS)) {
    const value: unknown = options[option as keyof typeof OPTIONS];
    if (names.length > 0 && typeof value === "object" && value !== null) refuseMisspelt(value, names, `${option}.`);
  }
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

/** Whether a value was made by {@link defineHandler}, of this copy of the module or another. */
export function isHandler(value: unknown): value is Handler {
  return typeof value === "object" && value !== null && (value as Record<symbol, unknown>)[HANDLER] === true;
}
