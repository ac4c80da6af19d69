import { FILTER_FORMS, LISTS } from "../input/list-filter.ts";
import { HISTORY } from "../routes/queues/history.ts";
import { PAGE } from "../routes/queues/line.ts";
import { ID, QUEUE } from "./schemas/schemas.ts";
import type { Parameter, Reference, Schema } from "./types.ts";

const query = (name: string, description: string, schema: Schema): Parameter => ({
  name,
  in: "query",
  description,
  schema,
});
const header = (name: string, description: string): Parameter => ({
  name,
  in: "header",
  description,
  schema: { type: "string" },
});
const path = (name: string, description: string, schema: Schema): Parameter => ({
  name,
  in: "path",
  required: true,
  description,
  schema,
});

const isFirst = (state: string, n: number, all: readonly string[]): boolean => all.indexOf(state) === n;

/** Request parameters, by their name in the components. */
export const parameters = {
  id: path("id", "The id of the task.", ID),
  queue: path("queue", "The name of the queue.", QUEUE),
  code: path("code", "The code of an error.", { type: "string" }),
  path: path("path", "The path below the target; it may contain slashes.", { type: "string" }),
  Prefer: header(
    "Prefer",
    "RFC 7240. Absent: wait for the result. `respond-async`: 202 at once. `wait=N`: the result if the task ends within N seconds, else 202.",
  ),
  "Prefer-wait": header("Prefer", "`wait=N`: wait for up to N seconds (RFC 7240 §4.3)."),
  "X-Request-Id": header(
    "X-Request-Id",
    "The id of the task: 1–128 characters `A–Z a–z 0–9 . _ ~ -`, the first a letter or digit. Any other value is ignored.",
  ),
  "Idempotency-Key": header(
    "Idempotency-Key",
    "The id is derived from caller, queue and this key. Takes precedence over X-Request-Id.",
  ),
  Priority: header("Priority", "`u=0` (most urgent) to `u=7`; default 3 (RFC 9218)."),
  delay: query("delay", "Seconds before the task joins the line.", { type: "number", minimum: 0 }),
  notBefore: query("notBefore", "The earliest time at which the task joins the line.", {
    type: "string",
    format: "date-time",
  }),
  deadline: query(
    "deadline",
    "Cancel the task unless it has ended within so many seconds of its submission; later than `delay` and `notBefore`.",
    { type: "number", minimum: 1 },
  ),
  "Cancel-After": header(
    "Cancel-After",
    "The same as `deadline`: `90`, `90s`, `5m` or `1h`. If both are given, the sooner counts.",
  ),
  maxIndex: query("maxIndex", "Refuse the task with 503 if its index would be greater than this.", {
    type: "integer",
    minimum: 0,
  }),
  dryRun: query("dryRun", "Store nothing; only answer which place the task would get.", {
    type: "boolean",
    default: false,
  }),
  webhook: query("webhook", "URL to notify when the task has ended.", { type: "string", format: "uri" }),
  handlerQuery: {
    name: "handlerQuery",
    in: "query",
    description: "All other parameters are passed to the handler.",
    style: "form",
    explode: true,
    schema: { type: "object", additionalProperties: { type: "string" } },
    // Without it, pages that fill forms with examples would send made-up parameters.
    example: {},
  },
  after: query("after", "Go on behind the value with this `seq`.", { type: "integer", minimum: 0 }),
  pending: query("pending", "Status of the response while there is no result yet; default PENDING_STATUS.", {
    enum: ["404", "202"],
  }),
  onComplete: query("onComplete", "Once the task has ended: 303 to the result, or the result itself.", {
    enum: ["redirect", "stream"],
  }),
  onPending: query("onPending", "`synchronous`: wait until the task has ended.", {
    enum: ["accepted", "synchronous"],
    default: "accepted",
  }),
  embed: query("embed", "The HTML page is a small one without a script, which pages of EMBED_ORIGINS may frame.", {
    type: "boolean",
    default: false,
  }),
  "If-None-Match": header(
    "If-None-Match",
    "The ETag that the caller has. With `Prefer: wait=N` the response waits until it changes.",
  ),
  "If-Match": header("If-Match", "Proceed only if the task has one of these ETags (with `*`: if it exists); else 412."),
  "If-None-Match-write": header(
    "If-None-Match",
    "Proceed only if the task has none of these ETags (with `*`: if the id is free); else 412.",
  ),
  "Last-Event-ID": header("Last-Event-ID", "The id of the last event received."),
  lastEventId: query("lastEventId", "The same, for clients that cannot set headers.", { type: "string" }),
  envelope: query(
    "envelope",
    "Each line is an envelope with id, input, priority, delay and deadline, not a bare input.",
    {
      type: "boolean",
      default: false,
    },
  ),
  limit: query("limit", "Maximum number of items.", {
    type: "integer",
    minimum: 1,
    maximum: PAGE.most,
    default: PAGE.default,
  }),
  idPrefix: query("idPrefix", "Only tasks whose ids begin with this.", {
    type: "string",
    pattern: FILTER_FORMS.idPrefix.source,
  }),
  ofCaller: query("caller", "Only tasks of this caller: the name of a key.", { type: "string" }),
  ofKey: query("key", "Only tasks of this key of a fair or keyed line.", { type: "string" }),
  inState: query("state", "Only tasks in this state.", { enum: Object.values(LISTS).flat().filter(isFirst) }),
  olderThan: query(
    "olderThan",
    "Only tasks that were submitted so long ago: in seconds, or a time such as `90s`, `5m`, `2h` or `3d`.",
    { type: "string" },
  ),
  deadOrder: query("order", "Which come first: those that died last, or those that died long ago.", {
    enum: ["newest", "oldest"],
    default: "oldest",
  }),
  minutes: query("minutes", "How far back.", {
    type: "integer",
    minimum: HISTORY.minutes.least,
    maximum: HISTORY.minutes.most,
    default: HISTORY.minutes.most,
  }),
  step: query("step", "Seconds of one value; default 60 for all queues, 10 for one.", {
    type: "integer",
    minimum: HISTORY.step.least,
    maximum: HISTORY.step.most,
    multipleOf: 10,
  }),
  afterTime: query("after", "Only intervals that ended later, in seconds since the epoch.", {
    type: "integer",
    minimum: 0,
  }),
  cursor: query("cursor", "The `next` of the previous page.", { type: "string" }),
  queueQuery: query("queue", "The queue of the task; it must accept JSON.", { ...QUEUE, default: "default" }),
} satisfies Record<string, Parameter>;

/** References to parameters of the components. */
export function parameterRefs(...names: readonly (keyof typeof parameters)[]): Reference[] {
  return names.map((name) => ({ $ref: `#/components/parameters/${name}` }));
}

/** The parameters of a submission. */
export const SUBMIT_PARAMETERS = parameterRefs(
  ...(["Prefer", "X-Request-Id", "Idempotency-Key", "Priority", "Cancel-After"] as const),
  ...(["delay", "notBefore", "deadline", "maxIndex", "dryRun", "webhook", "handlerQuery"] as const),
);
