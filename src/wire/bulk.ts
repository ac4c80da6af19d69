import { z } from "zod";
import { count, type Document, text, time } from "./values.ts";

/** One step of an action on all tasks that match. */
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
