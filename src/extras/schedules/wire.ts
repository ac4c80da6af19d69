import { z } from "zod";
import { MISSED, OVERLAP, STATES } from "../../task.ts";
import { type Document, flag, text, time } from "../../wire/document.ts";
import { LINE_MEMBERS } from "../../wire/submission.ts";

const members = {
  queue: text,
  input: z.unknown().describe("The input of its tasks."),
  cron: text
    .exactOptional()
    .describe("Five or six fields (seconds first), or @hourly …; `L` and `#` as croner reads them."),
  every: text
    .exactOptional()
    .describe("In place of `cron`: `30s`, `5m`, `1h`; counts from `startAt`, else from when the schedule was made."),
  timeZone: text.exactOptional().describe("Of `cron`; default UTC."),
  startAt: time.exactOptional().describe("No due time before this one."),
  endAt: time.exactOptional().describe("No due time after this one."),
  missed: z
    .enum(MISSED)
    .exactOptional()
    .describe(
      "What fell due while no process lived, or more than a minute ago: the latest is submitted, none, or each (at most 1,000).",
    ),
  overlap: z.enum(OVERLAP).exactOptional().describe("`skip`: leave a time out while its task of before has not ended."),
  priority: z
    .int()
    .exactOptional()
    .meta(LINE_MEMBERS.priority ?? {}),
  deadline: z
    .number()
    .exactOptional()
    .meta(LINE_MEMBERS.deadline ?? {}),
  label: text.exactOptional(),
  paused: flag.exactOptional(),
};

/** What is sent for a schedule. */
export const scheduleBody = z.strictObject(members);
export type ScheduleBody = Document<typeof scheduleBody>;

/** What becomes of a due time that gets no task. */
const WITHOUT_TASK = ["skipped", "missed", "refused"] as const;

export const schedule = z.object({
  ...members,
  id: text,
  timeZone: text,
  missed: z.enum(MISSED),
  overlap: z.enum(OVERLAP),
  paused: flag,
  declared: flag.describe("A handler declares it: it can be paused and run, but not changed or deleted."),
  orphan: flag.describe("No live process declares it any more: it submits nothing, and can be deleted."),
  next: z.array(time).max(5).describe("The next due times; empty while it is paused."),
  last: z
    .object({
      id: text.describe("The task of that time."),
      at: time.describe("The due time."),
      state: z
        .enum([...STATES, ...WITHOUT_TASK])
        .nullable()
        .describe(
          "Of the task; `skipped`: the task of before had not ended; `missed`: no process could submit it in time; null: no longer known.",
        ),
    })
    .nullable()
    .describe("The latest due time."),
  history: z
    .array(
      z.object({
        id: text,
        at: time,
        state: z
          .enum(["succeeded", "failed", "canceled", ...WITHOUT_TASK])
          .nullable()
          .describe("null: its task has not ended, as far as is known."),
      }),
    )
    .max(20)
    .describe("The latest due times, newest first."),
});
/** A schedule. */
export type Schedule = Document<typeof schedule>;

export const schedules = z.object({ items: z.array(schedule), next: text.nullable() });
/** A page of schedules, by id. */
export type Schedules = Document<typeof schedules>;
