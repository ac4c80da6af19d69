import { z } from "zod";
import { count, type Document, text } from "./values.ts";

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
