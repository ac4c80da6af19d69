import { z } from "zod";
import { durationWithin, LONGEST_MS, parseDuration } from "../config/duration.ts";
import { MAX_CONCURRENCY, MAX_RATE } from "../handler/options.ts";
import { QUEUE_ACTIONS } from "../task.ts";
import { count, type Document, flag, listOf, seconds, text, time } from "./document.ts";
import { FILTER_FORMS, LISTS, type ListName } from "./list-filter.ts";
import { eta, rateLimit } from "./task.ts";

export const queue = z.object({
  name: text,
  description: text.nullable().describe("What its tasks are for, as its handler says."),
  own: flag.describe("One of the server's own queues, for webhooks or undo."),
  orphaned: flag.describe(
    "No process has a handler for it any more, and no worker that served it is alive: its tasks will not run.",
  ),
  paused: flag,
  waiting: count,
  scheduled: count,
  held: count
    .nullable()
    .describe(
      "In a keyed queue, or one with a `limit`, how many of the waiting tasks wait for another with the same line key; null for other queues.",
    ),
  maxWaiting: count.describe(
    "How many tasks may wait or be scheduled (MAX_WAITING): more are refused, 503 `queue-full`.",
  ),
  running: count,
  dead: count,
  workers: count,
  slots: count,
  oldestWaitingSeconds: seconds.nullable(),
  serviceTime: z.object({ mean: seconds.nullable(), samples: count }),
  rate: z
    .object({ accepted: seconds, finished: seconds, failed: seconds })
    .describe("Per second, over the last minute; `finished` includes failed tasks, but not canceled ones."),
  eta: eta.nullable(),
  order: z
    .enum(["arrival", "fair"])
    .describe(
      "`fair`: line keys (such as callers) take turns, so the index of a waiting task may rise; `eta` of the queue is then for a key without waiting tasks.",
    ),
  limit: z
    .object({ waiting: count.nullable(), running: count.nullable() })
    .nullable()
    .describe(
      "How many tasks of one caller, or of what else the handler counts, may wait (more are refused: 429 `too-many-tasks`) and run at once; null where any number may.",
    ),
  resting: z
    .object({ since: time, reason: text, nextProbe: time })
    .nullable()
    .describe(
      "The circuit breaker of a gateway is open, since its API is down: until `nextProbe` it takes no work, then one task as a probe.",
    ),
  slotsWanted: z
    .int()
    .min(0)
    .nullable()
    .describe(
      "How many slots would start a new task within the handler's `targetWait`, for autoscaling: at least 1 with work and no worker, 0 after a minute without work. Null while the queue is paused or its circuit breaker is open, and with work and a worker, but no history. Without a `targetWait`: null for turns, else 1 while there is work that may start or runs, else 0.",
    ),
  settings: z
    .object({
      concurrency: z.object({ declared: count.nullable(), now: count.nullable() }),
      total: z.object({ declared: count.nullable(), now: count.nullable() }),
      rate: z.object({ declared: rateLimit.nullable(), now: rateLimit.nullable() }),
    })
    .describe(
      "What holds the queue: `concurrency`, tasks at a time in one worker, null if its handler is not here; `total`, tasks at a time over all workers, or turns at a time, null for any number; `rate`, how many may start in what time, over all workers, null for any number; as the handler declares it, and what holds now.",
    ),
  turns: z
    .object({ longest: seconds.nullable(), door: z.boolean() })
    .nullable()
    .describe(
      "Of a queue of turns, whose callers do the work: for how many seconds one may last, null for any time, and whether turns are requests at the door of a gateway. Null for any other queue.",
    ),
  consumes: z.array(text),
  input: z.record(z.string(), z.unknown()).nullable().describe("JSON Schema of the input; null if unknown."),
  actions: z
    .array(z.enum(QUEUE_ACTIONS))
    .describe(
      "What you can do with the queue now, with your key: `submit` to it, `list` its tasks, `pause` or `resume` it, `adjust` its settings; `cancel`, `retry` and `delete` apply to many of its tasks at once.",
    ),
});
/** A queue and its figures. */
export type Queue = Document<typeof queue>;
export const queues = listOf(queue);
export type Queues = Document<typeof queues>;
export type QueueAction = Queue["actions"][number];

const slots = z.int().min(1).max(MAX_CONCURRENCY);

const adjustable = {
  concurrency: z
    .union([
      slots.describe("The same as `each`; of a queue of turns, as `total`."),
      z
        .strictObject({
          each: slots.nullable().exactOptional().describe("How many tasks each worker process runs at a time."),
          total: slots.nullable().exactOptional().describe("How many tasks run at a time, over all processes."),
        })
        .refine((given) => Object.keys(given).length > 0, { error: "expected each or total" }),
    ])
    .nullable()
    .exactOptional()
    .describe("How many tasks run at a time; null: as the handler declares it."),
  rate: z
    .strictObject({
      max: z.int().min(1).max(MAX_RATE),
      per: z
        .string()
        .refine((text) => (parseDuration(text) ?? 0) >= 1 && (parseDuration(text) ?? 0) <= LONGEST_MS, {
          error: `expected ${durationWithin(1, LONGEST_MS)}`,
        })
        .describe('Such as "1s", "30s" or "1m".'),
    })
    .nullable()
    .exactOptional()
    .describe("How many tasks may start in what time, over all workers; null: as the handler declares it."),
};

/** What an operator changes of a queue while it runs. */
export const adjustBody = z
  .strictObject(adjustable)
  .refine((given) => Object.keys(given).length > 0, { error: `expected ${Object.keys(adjustable).join(" or ")}` })
  .meta({ minProperties: 1 });
export type AdjustBody = z.infer<typeof adjustBody>;

const values = (description: string) => z.array(count).describe(description);
const percentile = (description: string) => z.array(seconds.nullable()).describe(description);

const span = {
  step: seconds,
  at: z
    .array(z.int())
    .describe(
      "The ends of the intervals, in seconds since the epoch; every other list has a value for each of them, but `deploys`.",
    ),
  deploys: z
    .array(z.object({ at: time, version: text }))
    .describe("When the first worker with another version of the handlers started, the newest first."),
};

/** One of several histories, which share the times of their values. */
const series = z.object({
  name: text,
  own: flag,
  waiting: values("At the end of the interval."),
  running: values("At the end of the interval."),
  scheduled: values("At the end of the interval."),
  dead: values("At the end of the interval."),
  accepted: values("In the interval."),
  started: values("In the interval; it may be off by the number of tasks running at its edges."),
  finished: values("In the interval, including the failed."),
  failed: values("In the interval."),
  serviceP50: percentile(
    "Median of a sample of the service times of tasks that succeeded in the interval, in seconds; null if none did.",
  ),
  serviceP95: percentile("Their 95th percentile."),
  waitP50: percentile(
    "Median of the time between joining the line and starting, of tasks that ended at their first attempt.",
  ),
  waitP95: percentile("Its 95th percentile."),
});
/** The values of a queue. */
export type Series = Document<typeof series>;

/** A queue in the last hour, day or week. */
export const history = series.extend(span);
export type History = Document<typeof history>;

/** All queues in the last hour. */
export const histories = z.object({ ...span, queues: z.array(series) });
export type Histories = Document<typeof histories>;

/** The lists on whose tasks each action makes sense. */
const LISTS_OF_ACTION = {
  cancel: ["waiting", "scheduled", "running"],
  retry: ["dead"],
  delete: ["dead", "finished"],
} as const satisfies Readonly<Record<string, readonly ListName[]>>;

/** One step of an action on all tasks of a list that match. */
export const bulkBody = z
  .strictObject({
    action: z.enum(["cancel", "retry", "delete"]),
    list: z.enum(["waiting", "scheduled", "running", "dead", "finished"]),
    caller: z.string().regex(FILTER_FORMS.caller).optional(),
    idPrefix: z.string().regex(FILTER_FORMS.idPrefix).optional(),
    key: z.string().regex(FILTER_FORMS.key).optional(),
    text: z.string().regex(FILTER_FORMS.text).optional(),
    /** Of dead and finished tasks: why they failed, as `/dead/errors` names it. */
    error: z.string().regex(FILTER_FORMS.error).optional(),
    state: z.enum(["scheduled", "retrying", "succeeded", "failed", "canceled"]).optional(),
    /** The minimum time since submission, in seconds. */
    olderThan: z.number().min(0).max(1e9).optional(),
    /** The `next` of the previous step; null or left out for the first step. */
    cursor: z.string().max(10_000).nullable().optional(),
    /** Only counts the tasks that match. */
    dryRun: z.boolean().default(false),
  })
  .refine(({ action, list }) => (LISTS_OF_ACTION[action] as readonly ListName[]).includes(list), {
    error: "the action does not apply to this list",
    path: ["list"],
  })
  .refine(({ list, state }) => state === undefined || (LISTS[list] as readonly string[]).includes(state), {
    error: "no task of this list is in this state",
    path: ["state"],
  });

/** What a step has done. */
export const bulkStep = z.object({
  matched: count.describe("How many tasks matched in this step."),
  done: count.describe("How many of these changed; the others had changed state in the meantime."),
  scanned: count,
  next: text.nullable(),
});
export type BulkStep = Document<typeof bulkStep>;

/** The answer to retrying or deleting all dead tasks of a queue. */
export const retriedDead = z.object({ retried: count });
export type RetriedDead = Document<typeof retriedDead>;
export const deletedDead = z.object({ deleted: count });
export type DeletedDead = Document<typeof deletedDead>;

const callerCounts = z.object({
  caller: text.nullable().describe("The name of the API key; null for tasks of nobody."),
  waiting: count,
  scheduled: count.describe("With those that are tried again."),
  running: count,
  failed: count.describe("Of the latest 1,000 outcomes, with the dead."),
  dead: count,
});
/** Who has how many tasks in a queue. */
export const callers = z.object({
  items: z.array(callerCounts).describe("At most 100."),
  others: count.describe("How many further callers there are."),
  complete: flag.describe("Whether all entries of its lists were counted."),
});
export type Callers = Document<typeof callers>;
export type CallerCounts = Callers["items"][number];

const deadError = z.object({
  error: text.describe(
    "The code, then, if the handler threw, a colon, a space and the first line of what it threw: the filter `error`.",
  ),
  code: text,
  message: text.describe("That first line, at most 200 bytes; empty if the handler did not throw."),
  count,
  retryable: count.describe("How many of them can be run again; not those whose work is undone."),
  firstAt: time.describe("When the first of them died."),
  lastAt: time,
});
/** What dead tasks of a queue died of. */
export const deadErrors = z.object({
  items: z.array(deadError).describe("The most frequent first, at most 100."),
  others: count.describe("How many tasks died of further errors."),
});
export type DeadErrors = Document<typeof deadErrors>;
export type DeadError = DeadErrors["items"][number];
