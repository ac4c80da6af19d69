import { errorEntries } from "../../../errors.ts";
import { ID_FORM, PRIORITY, QUEUE_FORM, STATES, TASK_ACTIONS } from "../../../task.ts";
import { QUEUE_ACTIONS } from "../../routes/queues/queues.ts";
import { nullable, object, type Schema, schemaRef } from "../types.ts";

const text: Schema = { type: "string" };
const count: Schema = { type: "integer", minimum: 0 };
const seconds: Schema = { type: "number", minimum: 0 };
const flag: Schema = { type: "boolean" };
const time: Schema = { type: "string", format: "date-time", description: "RFC 3339, UTC, with milliseconds." };
const links: Schema = { type: "array", items: schemaRef("Link") };
const index: Schema = {
  type: ["integer", "null"],
  minimum: 0,
  description: "How many tasks of the queue stand before this one; null if the task has no place in line.",
};

/** The form of a task's id. */
export const ID: Schema = { type: "string", pattern: ID_FORM.source };
/** The form of a queue's name. */
export const QUEUE: Schema = { type: "string", pattern: QUEUE_FORM.source };
/** The form of a priority. */
const PRIORITY_SCHEMA: Schema = {
  type: "integer",
  minimum: PRIORITY.most,
  maximum: PRIORITY.least,
  default: PRIORITY.default,
};

const taskMembers = {
  id: text,
  queue: text,
  state: schemaRef("State"),
  status: { ...schemaRef("State"), description: "Same as `state`; generic clients expect this name." },
  index,
  ahead: {
    type: ["integer", "null"],
    minimum: 0,
    description: "All the work in front of the task: `index` + `running`.",
  },
  running: count,
  waiting: count,
  attempt: count,
  maxAttempts: count,
  cancelRequested: flag,
  progress: nullable(
    object({
      percent: { type: "number", minimum: 0, maximum: 100 },
      message: { type: ["string", "null"] },
      estimated: flag,
    }),
  ),
  eta: nullable(schemaRef("Eta")),
  createdAt: time,
  startedAt: nullable(time),
  finishedAt: nullable(time),
  expiresAt: nullable(time),
  deadlineAt: { ...nullable(time), description: "When the task is canceled unless it has ended." },
  held: {
    ...flag,
    description:
      "The key of the task is at its limit: it starts when another task of the same key has ended, whatever else it waits for.",
  },
  error: nullable(schemaRef("TaskError")),
  actions: {
    type: "array",
    items: { enum: TASK_ACTIONS },
    description:
      "What you can do to the task now: with your key, in the state it is in. `cancel` and `delete` are a DELETE, `replace` is a PUT of another input, `retry` a POST to `/retry`. Whatever is not listed is refused, or changes nothing. Empty in a webhook, and for who has only a signed link.",
  },
  links,
} satisfies Record<string, Schema>;

const listedMembers = {
  ...taskMembers,
  caller: { type: ["string", "null"] },
  key: {
    type: ["string", "null"],
    description: "Whose share of a fair line it takes, or its key in a keyed one; of a long one `#` and a digest.",
  },
  worker: {
    type: ["string", "null"],
    description: "The last 20 characters of the name of the worker that has it, or had it last.",
  },
  dueAt: { ...nullable(time), description: "When a scheduled or retrying task is due." },
  lost: { ...count, description: "How many workers it has lost." },
} satisfies Record<string, Schema>;

const series = (description: string): Schema => ({ type: "array", items: count, description });
const percentile = (description: string): Schema => ({ type: "array", items: nullable(seconds), description });
const seriesTimes: Schema = {
  type: "array",
  items: { type: "integer" },
  description: "The ends of the intervals, in seconds since the epoch; every other list has a value for each of them.",
};
const historyMembers = {
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
} satisfies Record<string, Schema>;

const allocatedMembers = {
  id: ID,
  status: { enum: ["allocated", ...STATES] },
  progress: { type: "integer", minimum: 0, maximum: 100 },
  eta: nullable(schemaRef("Eta")),
} satisfies Record<string, Schema>;

/** The schemas of responses and their parts, by name. */
export const schemas: Readonly<Record<string, Schema>> = {
  State: { enum: STATES },
  Link: object({ rel: text, href: { type: "string", format: "uri-reference" }, method: text }),
  Eta: {
    ...object({
      seconds,
      low: seconds,
      high: seconds,
      basis: { enum: ["running", "idle", "schedule", "history"] },
      samples: count,
    }),
    description:
      "When the task is expected to start, in seconds from now: to the millisecond below 10 s, to a tenth of a second above. In 80 of 100 cases the actual start lies between low and high.",
  },
  TaskError: object(
    {
      code: text,
      message: { type: "string", minLength: 1 },
      steps: { type: "array", items: text, description: "If an undo failed: the steps that are not undone." },
    },
    ["steps"],
  ),
  Pending: object({
    rel: { const: "self" },
    href: text,
    method: { const: "GET" },
    index,
    id: ID,
    queue: text,
    state: schemaRef("State"),
    eta: nullable(schemaRef("Eta")),
    links,
  }),
  Task: object(taskMembers),
  OutputValue: object({
    seq: { ...count, description: "Rises by one over all attempts." },
    run: { type: "integer", minimum: 1, description: "Rises with every start of the task: read anew from there." },
    attempt: { type: "integer", minimum: 0 },
    data: { description: "What the handler wrote." },
  }),
  ListedTask: object(listedMembers),
  DeadTask: object({
    ...listedMembers,
    errors: { type: "array", items: text, description: "The latest errors of its attempts, newest first." },
  }),
  DryRun: object({ queue: text, index, eta: nullable(schemaRef("Eta")) }),
  Queue: object({
    name: text,
    own: { ...flag, description: "One of the server's own queues, for webhooks or undo." },
    orphaned: {
      ...flag,
      description:
        "No process has a handler for it any more, and none lives that took from it: what it holds will not run.",
    },
    paused: flag,
    waiting: count,
    scheduled: count,
    held: {
      ...nullable(count),
      description: "Of a keyed queue, how many of the waiting tasks wait for another of their key; null for any other.",
    },
    running: count,
    dead: count,
    workers: count,
    slots: count,
    oldestWaitingSeconds: nullable(seconds),
    serviceTime: object({ mean: nullable(seconds), samples: count }),
    rate: {
      ...object({ accepted: seconds, finished: seconds, failed: seconds }),
      description: "Per second, over the last minute; `finished` includes the failed, not the canceled.",
    },
    eta: nullable(schemaRef("Eta")),
    order: {
      enum: ["arrival", "fair"],
      description:
        "`fair`: keys (such as callers) take turns, so the index of a waiting task may rise; `eta` of the queue is then that of a key of which none waits.",
    },
    resting: nullable({
      ...object({ since: time, reason: text, nextProbe: time }),
      description: "A gateway whose API is down: until `nextProbe` it takes no work, then one task as a probe.",
    }),
    slotsWanted: {
      type: ["integer", "null"],
      minimum: 1,
      description:
        "How many slots would start a new task within the handler's `targetWait`, for autoscaling; null without one, while the queue is paused or rests, and with work but no history.",
    },
    consumes: { type: "array", items: text },
    input: {
      type: ["object", "null"],
      description: "JSON Schema of the input; null if unknown.",
    },
    actions: {
      type: "array",
      items: { enum: QUEUE_ACTIONS },
      description:
        "What you can do with the queue now, with your key: `submit` to it, `list` its tasks, `pause` or `resume` it; `cancel`, `retry` and `delete` are for many of its tasks at once.",
    },
  }),
  History: { ...object({ step: seconds, at: seriesTimes, ...historyMembers }) },
  Histories: object({
    step: seconds,
    at: seriesTimes,
    queues: { type: "array", items: object(historyMembers) },
  }),
  BatchVerdict: {
    description: "One line of the response to a batch: the task was accepted, or the problem of that line.",
    oneOf: [
      object({ line: count, id: ID, href: text, index, replayed: { const: true } }, ["replayed"]),
      object({ line: count, problem: schemaRef("Problem") }),
    ],
  },
  Envelope: {
    ...object(
      { id: ID, input: {}, priority: PRIORITY_SCHEMA, delay: seconds, deadline: { type: "number", minimum: 1 } },
      [...["id", "priority", "delay", "deadline"]],
    ),
    additionalProperties: false,
  },
  AllocatedTask: object(allocatedMembers),
  AllocatedResult: object(
    {
      ...allocatedMembers,
      result: { description: "What the handler returned; null if it is not JSON." },
      contentType: { type: ["string", "null"], description: "Media type of a result that is not JSON." },
      href: { type: "string", description: "URL of a result that is not JSON." },
    },
    ["result", "contentType", "href"],
  ),
  Problem: {
    ...object(
      {
        type: { type: "string", format: "uri-reference", description: "`/problems/{code}`, which explains the code." },
        title: text,
        status: { type: "integer", minimum: 400, maximum: 599 },
        detail: text,
      },
      ["title", "detail"],
    ),
    description: "A problem document (RFC 9457); further members depend on the code.",
  },
  FieldError: object({ pointer: { type: "string", description: "JSON Pointer as a URI fragment." }, detail: text }),
  ProblemExplanation: object({
    type: text,
    code: { enum: errorEntries.map(({ code }) => code) },
    status: { type: "integer" },
    title: text,
    meaning: text,
    action: text,
    example: schemaRef("Problem"),
  }),
  Lease: object(
    {
      id: text,
      queue: text,
      fence: { type: "integer", minimum: 1 },
      attempt: { type: "integer", minimum: 1 },
      maxAttempts: { type: "integer", minimum: 1 },
      leaseSeconds: seconds,
      mediaType: text,
      input: { description: "The input, if it is JSON." },
      body: {
        type: "string",
        contentEncoding: "base64",
        description: "The input in base64, if it has another media type.",
      },
      query: { type: "object", additionalProperties: text },
      caller: { type: ["string", "null"] },
      submittedAt: time,
      traceparent: {
        type: ["string", "null"],
        description: "The trace of the submitter (W3C Trace Context), to be continued.",
      },
      tracestate: { type: ["string", "null"] },
      links,
    },
    ["input", "body"],
  ),
};
