import { z } from "zod";
import { QUEUE_ACTIONS } from "../task.ts";
import { listOf } from "./page.ts";
import { eta } from "./task.ts";
import { count, type Document, flag, seconds, text, time } from "./values.ts";

export const queue = z.object({
  name: text,
  own: flag.describe("One of the server's own queues, for webhooks or undo."),
  orphaned: flag.describe(
    "No process has a handler for it any more, and none lives that took from it: what it holds will not run.",
  ),
  paused: flag,
  waiting: count,
  scheduled: count,
  held: count
    .nullable()
    .describe("Of a keyed queue, how many of the waiting tasks wait for another of their key; null for any other."),
  running: count,
  dead: count,
  workers: count,
  slots: count,
  oldestWaitingSeconds: seconds.nullable(),
  serviceTime: z.object({ mean: seconds.nullable(), samples: count }),
  rate: z
    .object({ accepted: seconds, finished: seconds, failed: seconds })
    .describe("Per second, over the last minute; `finished` includes the failed, not the canceled."),
  eta: eta.nullable(),
  order: z
    .enum(["arrival", "fair"])
    .describe(
      "`fair`: keys (such as callers) take turns, so the index of a waiting task may rise; `eta` of the queue is then that of a key of which none waits.",
    ),
  resting: z
    .object({ since: time, reason: text, nextProbe: time })
    .nullable()
    .describe(
      "The circuit breaker of a gateway is open, since its API is down: until `nextProbe` it takes no work, then one task as a probe.",
    ),
  slotsWanted: z
    .int()
    .min(1)
    .nullable()
    .describe(
      "How many slots would start a new task within the handler's `targetWait`, for autoscaling; null without one, while the queue is paused or its circuit breaker is open, and with work but no history.",
    ),
  consumes: z.array(text),
  input: z.record(z.string(), z.unknown()).nullable().describe("JSON Schema of the input; null if unknown."),
  actions: z
    .array(z.enum(QUEUE_ACTIONS))
    .describe(
      "What you can do with the queue now, with your key: `submit` to it, `list` its tasks, `pause` or `resume` it; `cancel`, `retry` and `delete` are for many of its tasks at once.",
    ),
});
/** A queue and its figures. */
export type Queue = Document<typeof queue>;
export const queues = listOf(queue);
export type Queues = Document<typeof queues>;
export type QueueAction = Queue["actions"][number];
