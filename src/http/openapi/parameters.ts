import { PAGE } from "../routes/line.ts";
import { ID, QUEUE } from "./schemas.ts";
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

/** Parameters of requests, by the name under which they stand in the components. */
export const parameters = {
  id: path("id", "The id of the task.", ID),
  queue: path("queue", "The name of the queue.", QUEUE),
  code: path("code", "A code of the catalogue.", { type: "string" }),
  path: path("path", "The path below the target; it may hold slashes.", { type: "string" }),
  Prefer: header(
    "Prefer",
    "RFC 7240. Absent: the answer is the result. `respond-async`: 202 at once. `wait=N`: the result if it is there within N seconds.",
  ),
  "Prefer-wait": header("Prefer", "`wait=N`: hold the request for up to N seconds (RFC 7240 §4.3)."),
  "X-Request-Id": header(
    "X-Request-Id",
    "The id of the task: 1–128 characters `A–Z a–z 0–9 . _ ~ -`, the first a letter or digit. Any other value is ignored.",
  ),
  "Idempotency-Key": header("Idempotency-Key", "Derives the id from caller, queue and key; wins over X-Request-Id."),
  Priority: header("Priority", "`u=0` (most urgent) to `u=7`; 3 when absent (RFC 9218)."),
  delay: query("delay", "Seconds before the task joins the line.", { type: "number", minimum: 0 }),
  notBefore: query("notBefore", "The time before which the task does not join the line.", {
    type: "string",
    format: "date-time",
  }),
  maxIndex: query("maxIndex", "Answer 503 instead of joining when the index would be above this.", {
    type: "integer",
    minimum: 0,
  }),
  dryRun: query("dryRun", "Only tell where the task would stand.", { type: "boolean", default: false }),
  webhook: query("webhook", "URL that is told when the task has ended.", { type: "string", format: "uri" }),
  handlerQuery: {
    name: "handlerQuery",
    in: "query",
    description: "Every parameter that the server does not know belongs to the handler.",
    style: "form",
    explode: true,
    schema: { type: "object", additionalProperties: { type: "string" } },
    // Else a page that fills forms with examples would send made-up ones.
    example: {},
  },
  pending: query("pending", "How a result that is not there yet is answered; default PENDING_STATUS.", {
    enum: ["404", "202"],
  }),
  onComplete: query("onComplete", "Of a task that has ended: 303 to the result, or the result itself.", {
    enum: ["redirect", "stream"],
  }),
  onPending: query("onPending", "`synchronous` holds the request until the task has ended.", {
    enum: ["accepted", "synchronous"],
    default: "accepted",
  }),
  "If-None-Match": header(
    "If-None-Match",
    "The ETag that the caller has; with `Prefer: wait=N` held until it is another.",
  ),
  "If-Match": header("If-Match", "Only where the task has one of these ETags (or, with `*`, is there); else 412."),
  "If-None-Match-write": header(
    "If-None-Match",
    "Only where the task has none of these ETags; `*`: only where the id is free.",
  ),
  "Last-Event-ID": header("Last-Event-ID", "The last event that the caller has had."),
  lastEventId: query("lastEventId", "The same, for clients that cannot set headers.", { type: "string" }),
  envelope: query("envelope", "A line is an envelope with id, priority and delay rather than an input.", {
    type: "boolean",
    default: false,
  }),
  limit: query("limit", "Most items of a page.", {
    type: "integer",
    minimum: 1,
    maximum: PAGE.most,
    default: PAGE.default,
  }),
  cursor: query("cursor", "The `next` of the page before.", { type: "string" }),
  queueQuery: query("queue", "The queue that the task will be for; it takes JSON.", { ...QUEUE, default: "default" }),
} satisfies Record<string, Parameter>;

/** References to parameters of the components. */
export function parameterRefs(...names: readonly (keyof typeof parameters)[]): Reference[] {
  return names.map((name) => ({ $ref: `#/components/parameters/${name}` }));
}

/** What a submission may be given beside its input. */
export const SUBMIT_PARAMETERS = parameterRefs(
  ...(["Prefer", "X-Request-Id", "Idempotency-Key", "Priority", "delay", "notBefore", "maxIndex", "dryRun"] as const),
  ...(["webhook", "handlerQuery"] as const),
);
