import { z } from "zod";
import { ID_FORM, LONGEST_DELAY_S, PRIORITY, STATES, TASK_ACTIONS } from "../task.ts";
import { LISTED, SHOWN } from "../task-record.ts";
import { count, type Document, flag, index, msOf, RFC3339_EXPECTED, seconds, text, time } from "./document.ts";

/** The form of a task's id. */
export const id = z.string().regex(ID_FORM);

export const state = z.enum(STATES);

export const link = z.object({ rel: text, href: z.string().meta({ format: "uri-reference" }), method: text });
/** A link to a resource of a task; relative to the server, and signed if it signs links. */
export type Link = Document<typeof link>;

/** A rate as a handler declares it. */
export const rateLimit = z.object({ max: count, per: text.describe('Such as "1s", "30s" or "1m".') });

export const eta = z
  .object({
    seconds,
    low: seconds,
    high: seconds,
    basis: z
      .enum(["running", "idle", "schedule", "history", "progress", "rate", "starting"])
      .describe(
        "`running`: its turn has come; `idle`: a slot is free; `schedule`: its due time; `history`: service times of the queue; `progress`: what running tasks report, as none has ended yet; `rate`: the rate of the queue, which holds the line for longer than its slots; `starting`: no worker is there, but one may come, and this is how long it takes to start, with the tasks before this one.",
      ),
    rate: rateLimit
      .exactOptional()
      .describe("With the basis `rate`: how many tasks of the queue may start, over all workers, and in what time."),
    samples: count.describe(
      "Number of service times that the estimate is based on; with `starting`, of starts: 0 if only the handler says how long one takes.",
    ),
  })
  .describe(
    "When the task is expected to start, in seconds from now: to the millisecond below 10 s, to a tenth of a second above. In 80 of 100 cases the actual start lies between low and high.",
  );
/** When a task's turn will come. */
export type Eta = Document<typeof eta>;

/** The body of a 202, and of the 404 `pending`: the first four members are those of PayPal's pattern. */
export const pending = z.object({
  rel: z.literal("self"),
  href: text,
  method: z.literal("GET"),
  index,
  id,
  queue: text,
  state,
  eta: eta.nullable(),
  links: z.array(link),
});
/** A task that the server has accepted. */
export type Pending = Document<typeof pending>;

const progress = z.object({
  percent: z.number().min(0).max(100),
  message: text.nullable(),
  estimated: flag.describe("From the service times of other tasks, since the handler does not report progress."),
});
/** The progress of a task. */
export type Progress = Document<typeof progress>;

export const taskError = z.object({
  code: text,
  message: z.string().min(1),
  steps: z.array(text).exactOptional().describe("If an undo failed: the steps that were not undone."),
});
/** Why a task failed or was canceled. */
export type TaskError = Document<typeof taskError>;

/** The schema of each form of a member of a record. */
const FORMS = {
  word: text,
  text: text.nullable(),
  key: text.nullable(),
  worker: text.nullable(),
  count,
  attempts: count,
  index,
  instant: time,
  time: time.nullable(),
  started: time.nullable(),
  flag,
  state,
};

type Shape<M> = {
  [N in keyof M]: M[N] extends { form: infer F extends keyof typeof FORMS } ? (typeof FORMS)[F] : never;
};

/** The schemas of members of a record. */
function shapeOf<const M extends Readonly<Record<string, { form: keyof typeof FORMS; description?: string }>>>(
  members: M,
): Shape<M> {
  const shape = Object.entries(members).map(([name, { form, description }]) => {
    const schema: z.ZodType = FORMS[form];
    return [name, description === undefined ? schema : schema.describe(description)];
  });
  return Object.fromEntries(shape);
}

const { queue, state: current, index: place, attempt: attempts, cancelRequested, ...others } = shapeOf(SHOWN);

const turn = z
  .object({
    since: time,
    until: time.nullable().describe("When it is given up unless somebody looks at it before; each look moves this."),
    endsAt: time.nullable().describe("When it fails, however often somebody looks; null if it may last for any time."),
    fence: z
      .int()
      .describe(
        "Rises with every turn of the queue: a resource that remembers the largest it has seen can refuse a holder whose turn is over.",
      ),
    door: z.boolean().describe("Whether it is a request at the door of a gateway, which ends by itself."),
  })
  .describe("While it is the turn of the caller.");
/** A turn that has been called and is not over. */
export type Turn = Document<typeof turn>;

/** The monitor's document. */
export const task = z.object({
  id: text,
  queue,
  state: current,
  status: state.describe("Same as `state`; generic clients expect this name."),
  index: place,
  ahead: count.nullable().describe("All the work in front of the task: `index` + `running`."),
  running: count.describe("How many tasks of the queue are running."),
  waiting: count.describe("How many tasks of the queue are waiting."),
  attempt: attempts,
  maxAttempts: count,
  cancelRequested,
  progress: progress.nullable(),
  eta: eta.nullable(),
  ...others,
  turn: turn.exactOptional(),
  error: taskError.nullable(),
  actions: z
    .array(z.enum(TASK_ACTIONS))
    .describe(
      "What you can do to the task now: with your key, in the state it is in. `cancel` and `delete` are a DELETE, `replace` is a PUT of another input, `move` is a PATCH of its priority or time, `place` one of its place, `retry` a POST to `/retry`, `again` one to `/again`. An action that is not listed is refused, or changes nothing. Empty in webhooks and for holders of a signed link.",
    ),
  links: z.array(link),
});
/** A task, as its monitor shows it. */
export type Task = Document<typeof task>;
export type TaskAction = Task["actions"][number];

export const listedTask = task.extend(shapeOf(LISTED));

/** Tasks found in all queues. */
export const search = z.object({
  items: z.array(listedTask),
  scanned: count.describe("How many entries of lists were looked at."),
  complete: z.boolean().describe("Whether all lists were searched to their ends."),
});
export type Search = Document<typeof search>;

export const deadTask = listedTask.extend({
  errors: z.array(text).describe("The latest errors of its attempts, newest first."),
});
/** A task of a list; a dead one with its errors. */
export type ListedTask = Document<typeof listedTask> & Partial<Document<typeof deadTask>>;

/** A value that a handler has written. */
export const output = z.object({
  seq: count.describe("Rises by one over all attempts."),
  run: z.int().min(1).describe("Rises with every start of the task: discard the values of earlier runs."),
  attempt: count,
  data: z.unknown().describe("What the handler wrote."),
});
export type Output = Document<typeof output>;

/** The place that a submission would get. */
export const quote = z.object({ queue: text, index, eta: eta.nullable() });
export type Quote = Document<typeof quote>;

const movable = {
  priority: z.int().min(PRIORITY.most).max(PRIORITY.least).exactOptional().describe("0 is the most urgent."),
  place: z.enum(["first", "last"]).exactOptional().describe("The start or the end of the line."),
  delay: z.number().min(0).max(LONGEST_DELAY_S).exactOptional().describe("Seconds before the task joins the line."),
  notBefore: z
    .string()
    .refine((time) => msOf(time) !== undefined, { error: `expected ${RFC3339_EXPECTED}` })
    .exactOptional()
    .meta({ format: "date-time", description: "The earliest time at which the task joins the line." }),
};

/** Where a task that waits is moved: exactly one member. */
export const moveBody = z
  .strictObject(movable)
  .refine((given) => Object.keys(given).length === 1, {
    error: `expected exactly one of ${Object.keys(movable).join(", ")}`,
  })
  .meta({ minProperties: 1, maxProperties: 1 });
export type MoveBody = z.infer<typeof moveBody>;

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
