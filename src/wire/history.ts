import { z } from "zod";
import { count, type Document, flag, seconds, text } from "./values.ts";

const values = (description: string) => z.array(count).describe(description);
const percentile = (description: string) => z.array(seconds.nullable()).describe(description);

const span = {
  step: seconds,
  at: z
    .array(z.int())
    .describe("The ends of the intervals, in seconds since the epoch; every other list has a value for each of them."),
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
