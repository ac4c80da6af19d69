import { z } from "zod";
import { count, type Document, flag, seconds, text } from "./values.ts";

const series = (description: string) => z.array(count).describe(description);
const percentile = (description: string) => z.array(seconds.nullable()).describe(description);

const span = {
  step: seconds,
  at: z
    .array(z.int())
    .describe("The ends of the intervals, in seconds since the epoch; every other list has a value for each of them."),
};

/** One of several histories, which share the times of their values. */
const queueHistory = z.object({
  name: text,
  own: flag,
  waiting: series("At the end of the interval."),
  running: series("At the end of the interval."),
  scheduled: series("At the end of the interval."),
  dead: series("At the end of the interval."),
  accepted: series("In the interval."),
  started: series("In the interval; at its edges it may be off by as many as run."),
  finished: series("In the interval, including the failed."),
  failed: series("In the interval."),
  serviceP50: percentile(
    "Median of the service times of some that succeeded in the interval, in seconds; null if none did.",
  ),
  serviceP95: percentile("Their 95th percentile."),
  waitP50: percentile(
    "The same of the time between joining the line and starting, of those that ended at their first attempt.",
  ),
  waitP95: percentile("Its 95th percentile."),
});
export type QueueHistory = Document<typeof queueHistory>;

/** A queue in the last hour. */
export const history = queueHistory.extend(span);

/** All queues in the last hour. */
export const histories = z.object({ ...span, queues: z.array(queueHistory) });
