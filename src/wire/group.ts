import { z } from "zod";
import { count, type Document, flag, text, time } from "./document.ts";
import { problem } from "./problem.ts";
import { eta, id, link, state } from "./task.ts";

/** The document of a group. */
export const group = z.object({
  id: text,
  queue: text,
  state: z
    .enum(["open", "pending", "done", "canceled"])
    .describe(
      "`open`: it accepts more tasks; `pending`: it accepts no more, and some have not ended; then `done`, or `canceled` if its cancel was requested.",
    ),
  total: count.describe("How many tasks it has: the sum of the next seven members."),
  waiting: count,
  scheduled: count,
  running: count,
  retrying: count,
  succeeded: count,
  failed: count,
  canceled: count,
  index: count
    .nullable()
    .describe("How many tasks of the queue start before the last waiting task of the group; null if none waits."),
  eta: eta
    .nullable()
    .describe("When the last task of the group is expected to end, in seconds from now; null if unknown."),
  progress: z.object({ percent: z.number().min(0).max(100).describe("The share of the tasks that have ended.") }),
  cancelRequested: flag,
  presentUntil: time
    .nullable()
    .describe(
      "When the group is canceled unless somebody looks at it or at one of its tasks before; null without `presence`.",
    ),
  createdAt: time,
  finishedAt: time.nullable().describe("When the last of its tasks ended."),
  expiresAt: time.nullable().describe("When the group is deleted: with the last result of its tasks."),
  links: z.array(link),
});
/** A group of tasks. */
export type Group = Document<typeof group>;

/** A line of the results of a group. */
export const groupResult = z
  .object({
    line: count.describe("The line that brought the task, counted through all batches of the group."),
    id,
    state,
    status: z.int().describe("The status with which the task answers when it is collected."),
    contentType: text.nullable(),
    data: z.unknown().optional().describe("The result, if it is JSON below 20 kB."),
    href: text.exactOptional().describe("Where any other result is collected."),
    problem: problem
      .exactOptional()
      .describe("What collecting a task answers that failed, was canceled or has expired."),
  })
  .describe("The end of a task of a group.");
/** A task of a group that has ended. */
export type GroupResult = Document<typeof groupResult>;
