import { z } from "zod";
import { state, task } from "./task.ts";
import { count, type Document, flag, text, time } from "./values.ts";

const loggedLine = z.object({
  at: time,
  level: text.describe("`info`, `warn` …"),
  text: text.describe("The message, then the error and other members of the line."),
});
/** A line that a handler has logged. */
export type LoggedLine = Document<typeof loggedLine>;

export const attempt = z.object({
  number: count.describe("0 for the retry of a dead task, which is not an attempt."),
  startedAt: time,
  endedAt: time.nullable(),
  outcome: z
    .enum(["running", "succeeded", "failed", "canceled", "retrying", "later", "lost", "released", "dead", "retried"])
    .describe(
      "`retrying`: another attempt followed; `later`: the handler asked for that, and the attempt does not count; `lost`: its worker was lost; `released`: handed back unfinished; `dead`: the task died, and was retried later; `retried`: that retry.",
    ),
  worker: text.nullable().describe("The last 20 characters of its name; null without the scope `read`."),
  error: text.nullable().describe("Null without the scope `read`."),
  stack: text
    .nullable()
    .describe(
      "Of the error that was thrown, with file and line, and of its causes. Null without the scope `read`, without such an error, and for attempts of workers over HTTP.",
    ),
  log: z
    .array(loggedLine)
    .describe(
      "The latest lines of `task.log`, at most 50, the oldest first. Empty without the scope `read`. Stacks and lines are kept of the latest 5 attempts.",
    ),
});
/** An attempt of a task, or the retry of a dead task. */
export type Attempt = Document<typeof attempt>;

/** What is kept of an attempt for operators. */
export type AttemptRecord = { readonly stack?: string; readonly log: readonly LoggedLine[] };

export const shown = z.object({
  mediaType: text,
  bytes: count.nullable(),
  truncated: flag.describe("It is too long to be shown here."),
  json: z.unknown().exactOptional().describe("The value, if it is JSON."),
  text: text.exactOptional(),
});
/** A value as a page can show it: JSON or text, if it is not too long. */
export type Shown = Document<typeof shown>;

const step = z.object({
  name: text,
  number: count,
  state: z.enum(["begun", "done", "undone"]),
  undoable: flag,
  undoneAt: time.nullable().describe("When the last step had been undone; null before that."),
  bytes: count,
  value: z.unknown().describe("JSON; null if it is long."),
  truncated: flag,
});
/** A durable step of a task. */
export type Step = Document<typeof step>;

export const timeline = z.object({
  task,
  caller: text.nullable(),
  priority: count,
  key: text.nullable(),
  dueAt: time.nullable(),
  query: z.record(z.string(), text),
  attempts: z.array(attempt).describe("The oldest first."),
  attemptsOmitted: flag.describe("Whether earlier attempts may be missing."),
  steps: z
    .array(step)
    .describe(
      "The steps of a task that is pending, dead, or can be undone; after an undo, for as long as the undo's result is kept.",
    ),
  stepsOmitted: count,
  undo: z
    .object({
      id: text,
      state,
      attempt: count,
      startedAt: time.nullable(),
      finishedAt: time.nullable(),
      error: text.nullable(),
    })
    .nullable(),
  webhooks: z
    .array(
      z.object({
        id: text,
        url: text,
        state,
        attempt: count,
        maxAttempts: count,
        nextAttemptAt: time.nullable(),
        finishedAt: time.nullable(),
        attempts: z.array(attempt),
      }),
    )
    .describe("One delivery for each end of the task, for as long as it is stored."),
  input: shown.nullable(),
  result: shown.extend({ status: z.int() }).nullable(),
});
/** What happened to a task. */
export type Timeline = Document<typeof timeline>;
