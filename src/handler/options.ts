import type { StandardSchemaV1 } from "@standard-schema/spec";
import { type Duration, durationWithin, LONGEST_MS, LONGEST_TIMER_MS, parseDuration } from "../config/duration.ts";
import { isQueueName, PRESENCE_S } from "../task.ts";
import type { SubmittedTask, TaskContext } from "./task-context.ts";
import type { Undos } from "./undos.ts";

/** How the places of a line are shared, see {@link HandlerOptions.fair}. */
export interface FairOptions<I = unknown> {
  /**
   * The line key of a task: at most 256 bytes. Called with the validated input when the task is submitted, so it must be fast.
   */
  by: (input: I, task: SubmittedTask) => string;
  /** The share of a key, from 0.001 to 1000; default 1, also for a value that is not a positive number. */
  weight?: (key: string) => number;
}

/**
 * What a handler may return: a JSON value, bytes (any typed array, ArrayBuffer, Blob, stream of bytes), a WHATWG Response, or nothing (204).
 * Anything else, also within a value, fails the attempt.
 */
export type HandlerResult = Response | Uint8Array | unknown;

/** Which tasks may not run at the same time, see {@link HandlerOptions.keyed}. */
export interface KeyedOptions<I = unknown> {
  /**
   * The line key of a task: at most 256 bytes; null for none: the task then waits for no other. Called with the validated input
   * when the task
   * is submitted, so it must be fast.
   */
  by: (input: I, task: SubmittedTask) => string | null;
  /** How many tasks with one line key may run at once, over all workers; default 1. */
  concurrency?: number;
}

/** How many tasks one caller may have, see {@link HandlerOptions.limit}. One of `waiting` and `running` is required. */
export interface LimitOptions<I = unknown> {
  /** How many may wait, in line, until a time, or for another attempt; more are refused: 429 `too-many-tasks`. Default: any number. */
  waiting?: number;
  /** How many may run at once, over all workers; others pass those that wait for it. Default: any number. */
  running?: number;
  /**
   * What counts as one caller: at most 256 bytes; null for a task without limits. Called with the validated input when the task is
   * submitted, so it must be fast. Default: the caller (its API key; without keys, its address).
   */
  by?: (input: I, task: SubmittedTask) => string | null;
}

/** A task that is submitted by the clock, see {@link HandlerOptions.schedules}. One of `cron` and `every` is required. */
export interface ScheduleOptions<In = unknown> {
  /** Five or six fields (seconds first), or `@hourly`, `@daily` …; `L` and `#` as croner reads them. */
  cron?: string;
  /** In place of `cron`: from `1s`, counted from `startAt`, else from when the schedule was first declared. */
  every?: string;
  /** Of `cron`; default UTC. */
  timeZone?: string;
  /** No due time before, or after, this time (RFC 3339). */
  startAt?: string;
  endAt?: string;
  /** What fell due while no process lived, or more than a minute ago: the latest is submitted (default), none, or each, at most 1,000. */
  missed?: "once" | "skip" | "all";
  /** `skip`: leaves a time out while its task of before has not ended. Default: they stand in line. */
  overlap?: "queue" | "skip";
  /** As of a submission; the deadline in seconds. */
  priority?: number;
  deadline?: number;
  label?: string;
  input: In;
}

/** How tasks are put together for one call, see {@link BatchHandlerOptions.batch}. */
export interface BatchOptions {
  /** Maximum number of tasks in one call: 2 to 500. */
  max: number;
  /** How long a call waits for more tasks, from when its first task was taken; default 0: it takes what is there. */
  wait?: Duration;
}

/** The options of {@link defineHandler}. Only `queue` and `run` are required. */
export interface HandlerOptions<I, R = HandlerResult, Q extends string = string, In = I> {
  /** Name of the queue: `a–z 0–9 . _ -`, 1–64 characters. */
  queue: Q;
  /** What its tasks are for, for people and models: at most 2,000 characters. */
  description?: string;
  /** Whether models may use the queue as a tool (MCP); default true. */
  tool?: boolean;
  /** Any Standard Schema; without one, any JSON is accepted. Not used for inputs that are bytes. */
  input?: StandardSchemaV1<In, I>;
  /** The media types accepted; unless it is JSON, the input is a Uint8Array. Default `["application/json"]`. */
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
  /**
   * Whether the input is kept as long as the result, so that the task can be run again; default true. false: only until the task has
   * succeeded, or with `undo` as long as that may need it.
   */
  keepInput?: boolean;
  /**
   * How many tasks run at once in each worker process; default CONCURRENCY. 0: none, the work is leased over HTTP. `total`: how many at most
   * over all processes; default: any number.
   */
  concurrency?: number | { each?: number; total?: number };
  /** How many workers a task may lose; one more and it is dead. Default 3. */
  maxLost?: number;
  /** How many tasks may start in each span, over all workers; default: no limit. */
  rate?: { max: number; per: Duration };
  /**
   * Shares the line among line keys in proportion to their weights, instead of strictly by arrival. `true`: among callers (API
   * keys; without them, addresses).
   */
  fair?: boolean | FairOptions<I>;
  /**
   * Runs the tasks with one line key one after the other, in the order of submission, even through retries; other tasks may
   * pass them. With a `concurrency` above 1, that many at once.
   */
  keyed?: KeyedOptions<I>;
  /** Refuses more tasks of one caller than may wait, and lets others pass those above what may run. Not with `keyed`. */
  limit?: LimitOptions<I>;
  /**
   * Cancels a task when nobody has looked at it for so long, waiting or running, unless its submission says otherwise: from 5 s to
   * 1 h.
   */
  presence?: Duration;
  /**
   * What people call a task whose submission has no label, from the validated input; called when the task is submitted, so it must be fast.
   * Cut to 64 characters, without control characters.
   */
  label?: (input: I, task: SubmittedTask) => string;
  /**
   * What the page of a failed task tells its reader to do, in a sentence: "Write to help@example.org, with the id below." At most 200
   * characters.
   */
  support?: string;
  /** Tasks that are submitted by the clock, by name: the schedule `{queue}.{name}`. */
  schedules?: Readonly<Record<string, ScheduleOptions<NoInfer<In>>>>;
  /** How long a new task should wait at most, for autoscaling: the queue's `slotsWanted` says how many slots that needs. */
  targetWait?: Duration;
  /**
   * How long a worker takes to start where none runs, at most 1 h: for the estimates meanwhile, as when an autoscaler starts the first one.
   * Default: learned from the latest starts.
   */
  warmup?: Duration;
  /**
   * Runs the handler in child processes, one task at a time in each, for CPU-bound work: leases are still renewed meanwhile, and a child
   * is ended if it continues for 2 s after its signal fired. `memoryMb` limits its heap (default 1024); a child that ends itself or needs
   * more is a loss. Only for handlers in files.
   */
  isolate?: boolean | { memoryMb: number };
  /** With it, `run` gets several tasks: see {@link BatchHandlerOptions}. */
  batch?: undefined;
  run(input: I, task: TaskContext): Promise<R> | R;
  /** How to undo what the task did if it fails, is canceled, or its result is deleted. */
  undo?: Undos<I>;
}

/** The options of a handler that gets many tasks in one call, for a GPU or an API that takes many at once. */
export interface BatchHandlerOptions<I, R = HandlerResult, Q extends string = string, In = I>
  extends Omit<HandlerOptions<I, R, Q, In>, "batch" | "isolate" | "run"> {
  /** A slot then runs up to `max` tasks in one call; `concurrency` is how many such calls run at once. */
  batch: BatchOptions;
  /**
   * Gets the inputs and their tasks, in the same order, and returns as many results. An `Error` in place of a result, also one made by
   * `giveUp` or `retryLater`, is how that task ends; what `run` throws ends all of them.
   */
  run(inputs: I[], tasks: TaskContext[]): Promise<readonly R[]> | readonly R[];
}

/** Defaults of options that have no setting. */
export const HANDLER_DEFAULTS = {
  backoffBaseMs: 1000,
  backoffMaxMs: 60_000,
  maxLost: 3,
  isolateMemoryMb: 1024,
} as const;

/** Makes the error for the value of an option, or of one of its members. */
type Refuse = (value: unknown, expected: string, member?: string) => TypeError;

type Options = Omit<HandlerOptions<unknown>, "batch"> & Partial<Pick<BatchHandlerOptions<unknown>, "batch">>;

/** The maximum of slots that a worker process gives a queue. */
export const MAX_CONCURRENCY = 1_000_000;

/** The store remembers at most this many starts of a queue. */
export const MAX_RATE = 10_000;

/** The maximum of tasks with one line key that run at once. */
const MAX_OF_A_KEY = 10_000;

/** The maximum of tasks of one caller that wait. */
const MAX_WAITING_OF_A_CALLER = 1_000_000;

/** Maximum number of tasks in one call, and the longest time for which it waits for more: a task that waits holds a lease. */
export const MOST_OF_A_BATCH = 500;
const LONGEST_BATCH_WAIT_MS = 60_000;

/** A worker that takes longer does not start: none comes. */
export const LONGEST_WARMUP_MS = 3_600_000;

/** Of a description, characters. */
const LONGEST_DESCRIPTION = 2000;

/** Maximum length of what pages tell readers of failed tasks, in characters. */
const MAX_SUPPORT = 200;

const MEDIA_RANGE = /^(?:\*\/\*|[a-z0-9!#$&^_.+-]+\/(?:\*|[a-z0-9!#$&^_.+-]+))$/;

/**
 * Every option: its name in a handler, its default as docs/handlers.md shows it (null: it is required), how it is read, and the names below
 * it. The type of a handler follows from this table; {@link HandlerOptions} is written out, since editors show its comments.
 */
export const OPTIONS = {
  queue: option("queue", null, (given: string, refuse) => {
    if (typeof given === "string" && isQueueName(given)) return given;
    throw refuse(given, "1–64 characters of a–z 0–9 . _ -, the first a letter or digit");
  }),
  run: option("run", null, (given: Options["run"], refuse) => {
    if (typeof given !== "function") throw refuse(given, "a function");
    return given;
  }),
  input: option("schema", "any JSON", (given: Options["input"], refuse) => {
    if (given === undefined || typeof given?.["~standard"]?.validate === "function") return given;
    throw refuse(given, "a Standard Schema, such as z.object({…}) of zod");
  }),
  description: option("description", "none", (given: Options["description"], refuse): string | undefined => {
    if (given === undefined || (typeof given === "string" && given.length <= LONGEST_DESCRIPTION)) return given;
    throw refuse(given, `text of at most ${LONGEST_DESCRIPTION} characters`);
  }),
  tool: option("tool", "true", flag(true)),
  consumes: option("consumes", '`["application/json"]`', (given: Options["consumes"], refuse): readonly string[] => {
    const ranges = given ?? ["application/json"];
    const lower = Array.isArray(ranges) ? ranges.map((range) => String(range).toLowerCase()) : [];
    if (lower.length > 0 && lower.every((range) => MEDIA_RANGE.test(range))) return lower;
    throw refuse(given, 'media types such as ["application/json"] or ["image/*"]');
  }),
  timeout: option("timeoutMs", "none", duration(1, LONGEST_TIMER_MS)),
  attempts: option("attempts", "`ATTEMPTS`", count(1)),
  backoff: option("backoff", "1 s doubling to 1 m", readBackoff, ["base", "max"]),
  lease: option("leaseMs", "`LEASE`", duration(1000, LONGEST_TIMER_MS)),
  resultTtl: option("resultTtlMs", "`RESULT_TTL`", duration()),
  tombstoneTtl: option("tombstoneTtlMs", "`TOMBSTONE_TTL`", duration()),
  keepInput: option("keepInput", "true", flag(true)),
  concurrency: option("concurrency", "`CONCURRENCY`", readConcurrency, ["each", "total"]),
  maxLost: option("maxLost", String(HANDLER_DEFAULTS.maxLost), count(0)),
  rate: option("rate", "none", readRate, ["max", "per"]),
  fair: option("fair", "false", readFair, ["by", "weight"]),
  keyed: option("keyed", "none", readKeyed, ["by", "concurrency"]),
  limit: option("limit", "none", readLimit, ["waiting", "running", "by"]),
  presence: option("presenceMs", "none", duration(PRESENCE_S.least * 1000, PRESENCE_S.most * 1000)),
  label: option("label", "none", (given: Options["label"], refuse) => {
    if (given === undefined || typeof given === "function") return given;
    throw refuse(given, "a function");
  }),
  support: option("support", "a sentence of ours", (given: Options["support"], refuse) => {
    if (given === undefined || (typeof given === "string" && given.trim() !== "" && given.length <= MAX_SUPPORT))
      return given;
    throw refuse(given, `a sentence of at most ${MAX_SUPPORT} characters`);
  }),
  // What is in them is read when a server starts.
  schedules: option("schedules", "none", (given: Options["schedules"], refuse) => {
    if (given === undefined || (typeof given === "object" && given !== null)) return given;
    throw refuse(given, 'schedules by name, such as { nightly: { cron: "0 3 * * *", input: {} } }');
  }),
  targetWait: option("targetWaitMs", "none", duration()),
  warmup: option("warmupMs", "learned", duration(1, LONGEST_WARMUP_MS)),
  batch: option("batch", "none", readBatch, ["max", "wait"]),
  isolate: option("isolate", "false", readIsolate, ["memoryMb"]),
  // The names in it are those of steps.
  undo: option("undo", "none", readUndo),
} as const satisfies { readonly [Name in keyof Options]-?: { read(given: Options[Name], refuse: Refuse): unknown } };

/** The options of a handler as read: durations in ms, and omitted ones undefined. */
export type ReadOptions = {
  readonly [Name in keyof typeof OPTIONS as (typeof OPTIONS)[Name]["as"]]: ReturnType<(typeof OPTIONS)[Name]["read"]>;
};

function option<As extends string, Given, Read>(
  as: As,
  fallback: string | null,
  read: (given: Given, refuse: Refuse) => Read,
  members: readonly string[] = [],
) {
  return { as, fallback, read, members };
}

function flag(otherwise: boolean) {
  return (given: boolean | undefined, refuse: Refuse): boolean => {
    if (given === undefined || typeof given === "boolean") return given ?? otherwise;
    throw refuse(given, "true or false");
  };
}

function duration(minMs = 1, maxMs = LONGEST_MS) {
  return (given: Duration | undefined, refuse: Refuse, member = ""): number | undefined => {
    const ms = given === undefined ? undefined : parseDuration(given);
    if (given === undefined || (ms !== undefined && ms >= minMs && ms <= maxMs)) return ms;
    throw refuse(given, durationWithin(minMs, maxMs), member);
  };
}

function count(min: number, max = 1_000_000) {
  return (given: number | undefined, refuse: Refuse, member = ""): number | undefined => {
    if (given === undefined || (Number.isInteger(given) && given >= min && given <= max)) return given;
    throw refuse(given, `a whole number from ${min} to ${max}`, member);
  };
}

function readConcurrency(given: Options["concurrency"], refuse: Refuse) {
  const { each, total } = typeof given === "object" && given !== null ? given : { each: given, total: undefined };
  return {
    each: count(0, MAX_CONCURRENCY)(each, refuse, typeof given === "object" ? ".each" : ""),
    total: count(1, MAX_CONCURRENCY)(total, refuse, ".total"),
  };
}

function readBackoff(given: Options["backoff"], refuse: Refuse) {
  if (given !== undefined && (typeof given !== "object" || given === null)) {
    throw refuse(given, '{ base: "1s", max: "1m" }');
  }
  const baseMs = duration()(given?.base, refuse, ".base") ?? HANDLER_DEFAULTS.backoffBaseMs;
  const maxMs = duration()(given?.max, refuse, ".max") ?? HANDLER_DEFAULTS.backoffMaxMs;
  return { baseMs, maxMs: Math.max(baseMs, maxMs) };
}

function readRate(given: Options["rate"], refuse: Refuse) {
  if (given === undefined) return undefined;
  const max = count(1, MAX_RATE)(given?.max, refuse, ".max");
  const perMs = duration()(given?.per, refuse, ".per");
  if (max === undefined || perMs === undefined) throw refuse(given, '{ max: 5, per: "1s" }');
  return { max, perMs };
}

/** `caller`: among callers. Undefined: by arrival. */
function readFair(given: Options["fair"], refuse: Refuse): "caller" | FairOptions | undefined {
  if (given === undefined || given === false) return undefined;
  if (given === true) return "caller";
  if (typeof given?.by !== "function") {
    throw refuse(given, "true, false or { by: (input, task) => key, weight?: (key) => number }");
  }
  const { by, weight } = given;
  if (weight !== undefined && typeof weight !== "function") throw refuse(weight, "a function of the key", ".weight");
  return { by, ...(weight && { weight }) };
}

/** Undefined: no task waits for others. */
function readKeyed(given: Options["keyed"], refuse: Refuse): Required<KeyedOptions> | undefined {
  if (given === undefined) return undefined;
  if (typeof given?.by !== "function") throw refuse(given, "{ by: (input, task) => key or null, concurrency?: 1 }");
  return { by: given.by, concurrency: count(1, MAX_OF_A_KEY)(given.concurrency, refuse, ".concurrency") ?? 1 };
}

/** Undefined: callers may have any number of tasks. */
function readLimit(
  given: Options["limit"],
  refuse: Refuse,
):
  | {
      readonly waiting: number | undefined;
      readonly running: number | undefined;
      readonly by: "caller" | KeyedOptions["by"];
    }
  | undefined {
  if (given === undefined) return undefined;
  if (typeof given !== "object" || given === null || (given.waiting === undefined && given.running === undefined)) {
    throw refuse(given, "{ waiting: 20, running: 2, by?: (input, task) => key or null }, one of the numbers at least");
  }
  const { by = "caller" } = given;
  if (by !== "caller" && typeof by !== "function") throw refuse(by, "a function of the input and the task", ".by");
  return {
    waiting: count(1, MAX_WAITING_OF_A_CALLER)(given.waiting, refuse, ".waiting"),
    running: count(1, MAX_OF_A_KEY)(given.running, refuse, ".running"),
    by,
  };
}

/** Undefined: each call gets one task. */
function readBatch(
  given: Options["batch"],
  refuse: Refuse,
): { readonly max: number; readonly waitMs: number } | undefined {
  if (given === undefined) return undefined;
  if (typeof given !== "object" || given === null) throw refuse(given, '{ max: 32, wait?: "50ms" }');
  const max = count(2, MOST_OF_A_BATCH)(given.max, refuse, ".max");
  if (max === undefined) throw refuse(given.max, `a whole number from 2 to ${MOST_OF_A_BATCH}`, ".max");
  return { max, waitMs: duration(0, LONGEST_BATCH_WAIT_MS)(given.wait, refuse, ".wait") ?? 0 };
}

function readIsolate(given: Options["isolate"], refuse: Refuse) {
  if (given === undefined || given === false) return undefined;
  if (given === true) return { memoryMb: HANDLER_DEFAULTS.isolateMemoryMb };
  if (typeof given !== "object" || given === null) throw refuse(given, "true, false or { memoryMb }");
  return { memoryMb: count(16)(given.memoryMb, refuse, ".memoryMb") ?? HANDLER_DEFAULTS.isolateMemoryMb };
}

/** Undefined: nothing can be undone. */
function readUndo(given: Options["undo"], refuse: Refuse): Undos | undefined {
  if (given === undefined) return undefined;
  if (typeof given !== "object" || given === null) {
    const form = '{ book: (booking, { input, task }) => …, "*": ({ input, task, steps }) => … }';
    throw refuse(given, `an object of functions by the name of the step: ${form}`);
  }
  const named = Object.entries(given).filter(([, undo]) => undo !== undefined);
  for (const [name, undo] of named) {
    if (typeof undo !== "function") throw refuse(undo, "a function", `[${JSON.stringify(name)}]`);
  }
  return named.length === 0 ? undefined : (Object.freeze(Object.fromEntries(named)) as Undos);
}
