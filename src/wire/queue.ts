import { z } from "zod";
import { QUEUE_ACTIONS } from "../task.ts";
import { listOf } from "./page.ts";
import { eta, rateLimit } from "./task.ts";
import { count, type Document, flag, seconds, text, time } from "./values.ts";

export const queue = z.object({
  name: text,
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
      "How many slots would start a new task within the handler's `targetWait`, for autoscaling: at least 1 with work and no worker, 0 after a minute without work. Null while the queue is paused or its circuit breaker is open, and with work and a worker, but no history. Without a `targetWait`: 1 while there is work that may start or runs, else 0.",
    ),
  settings: z
    .object({
      concurrency: z.object({ declared: count.nullable(), now: count.nullable() }),
      rate: z.object({ declared: rateLimit.nullable(), now: rateLimit.nullable() }),
    })
    .describe(
      "What holds the queue: tasks at a time in one worker, null if its handler is not here, and how many may start in what time, over all workers, null for any number; as the handler declares it, and what holds now.",
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
