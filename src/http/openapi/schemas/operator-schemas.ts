import { STATES } from "../../../task.ts";
import { nullable, object, type Schema, schemaRef } from "../types.ts";

const text: Schema = { type: "string" };
const maybeText: Schema = { type: ["string", "null"] };
const count: Schema = { type: "integer", minimum: 0 };
const time: Schema = { type: "string", format: "date-time" };
const maybeTime = nullable(time);
const flag: Schema = { type: "boolean" };

const shownMembers = {
  mediaType: text,
  bytes: nullable(count),
  truncated: { ...flag, description: "It is too long to be shown here." },
  json: { description: "The value, if it is JSON." },
  text,
} satisfies Record<string, Schema>;

/** The schemas of what operators look at, by name. */
export const operatorSchemas: Readonly<Record<string, Schema>> = {
  Worker: object({
    id: { ...text, description: "Only its last 20 characters if `kind` is `silent`." },
    kind: {
      enum: ["process", "remote", "silent"],
      description:
        "`process`: one of this server's; `remote`: a program that leases tasks over HTTP; `silent`: it has tasks, but has sent no heartbeat lately.",
    },
    host: maybeText,
    pid: nullable({ type: "integer" }),
    role: maybeText,
    version: maybeText,
    startedAt: maybeTime,
    seenAt: { ...maybeTime, description: "Its last heartbeat." },
    slots: { type: "object", additionalProperties: count, description: "By queue." },
    running: {
      type: "array",
      items: object({ id: text, queue: text, startedAt: maybeTime, attempt: count }),
    },
  }),
  Attempt: object({
    number: { ...count, description: "0 where a dead task was run again, which is no attempt." },
    startedAt: time,
    endedAt: maybeTime,
    outcome: {
      enum: ["running", "succeeded", "failed", "canceled", "retrying", "later", "lost", "released", "dead", "retried"],
      description:
        "`retrying`: another attempt followed; `later`: it asked for that, and does not count; `lost`: with its worker; `released`: handed back unfinished; `dead`: the task was run again after that; `retried`: that this was done.",
    },
    worker: { ...maybeText, description: "The last 20 characters of its name; null without the scope `read`." },
    error: { ...maybeText, description: "Null without the scope `read`." },
  }),
  Shown: object(shownMembers, ["json", "text"]),
  Timeline: object({
    task: schemaRef("Task"),
    caller: maybeText,
    priority: count,
    key: maybeText,
    dueAt: maybeTime,
    query: { type: "object", additionalProperties: text },
    attempts: { type: "array", items: schemaRef("Attempt"), description: "The oldest first." },
    attemptsOmitted: { ...flag, description: "There may have been earlier ones." },
    steps: {
      type: "array",
      items: object({
        name: text,
        number: count,
        state: { enum: ["begun", "done", "undone"] },
        undoable: flag,
        undoneAt: { ...maybeTime, description: "When the last of them had been undone; null before." },
        bytes: count,
        value: { description: "JSON; null if it is long." },
        truncated: flag,
      }),
      description:
        "Of a task that is pending, dead, or can be undone; once they have been undone as long as the result of that is kept.",
    },
    stepsOmitted: count,
    undo: nullable(
      object({
        id: text,
        state: { enum: STATES },
        attempt: count,
        startedAt: maybeTime,
        finishedAt: maybeTime,
        error: maybeText,
      }),
    ),
    webhooks: {
      type: "array",
      items: object({
        id: text,
        url: text,
        state: { enum: STATES },
        attempt: count,
        maxAttempts: count,
        nextAttemptAt: maybeTime,
        finishedAt: maybeTime,
        attempts: { type: "array", items: schemaRef("Attempt") },
      }),
      description: "One delivery for each end of the task, as long as it is remembered.",
    },
    input: nullable(schemaRef("Shown")),
    result: nullable(object({ ...shownMembers, status: { type: "integer" } }, ["json", "text"])),
  }),
};
