import { ID_FORM, QUEUE_FORM } from "../../task.ts";
import { FILTER_PARAMETERS } from "../../wire/list-filter.ts";
import { SUBMIT_PARAMETERS } from "../../wire/submission.ts";
import { PARAMETERS } from "../request/parameters.ts";
import type { Parameter, Reference, Schema } from "../route.ts";

const ID: Schema = { type: "string", pattern: ID_FORM.source };
const QUEUE: Schema = { type: "string", pattern: QUEUE_FORM.source };

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

/** The parameters of a table, which also says how they are read. */
const ofTable = <Name extends string>(table: Readonly<Record<Name, Omit<Parameter, "in">>>): Record<Name, Parameter> =>
  Object.fromEntries(
    Object.entries<Omit<Parameter, "in">>(table).map(([key, { name, description, schema }]) => [
      key,
      query(name, description, schema),
    ]),
  ) as Record<Name, Parameter>;

/** The name of the component of a submission's option: names must not differ by case alone, as `presence` and `Presence` do. */
const optionName = ({ name, in: place }: Pick<Parameter, "name" | "in">): string =>
  place === "header" ? `${name}-header` : name;

const SUBMISSION: Readonly<Record<never, Parameter>> = Object.fromEntries(
  SUBMIT_PARAMETERS.map((parameter) => [optionName(parameter), parameter]),
);

/** Request parameters, by their name in the components. */
export const parameters = {
  id: path("id", "The id of the task or group.", ID),
  queue: path("queue", "The name of the queue.", QUEUE),
  code: path("code", "The code of an error.", { type: "string" }),
  path: path("path", "The path below the target; it may contain slashes.", { type: "string" }),
  Prefer: header(
    "Prefer",
    "RFC 7240. If absent: wait for the result. `respond-async`: 202 at once. `wait=N`: the result if the task ends within N seconds, else 202.",
  ),
  "Prefer-wait": header("Prefer", "`wait=N`: wait for up to N seconds (RFC 7240 §4.3)."),
  "X-Request-Id": header(
    "X-Request-Id",
    "The id of the task: 1–128 characters `A–Z a–z 0–9 . _ ~ -`, the first a letter or digit, not ending as those of schedules do (`~20261126T030000Z`). Any other value is ignored.",
  ),
  "Idempotency-Key": header(
    "Idempotency-Key",
    "The id is derived from the caller, the queue and this key. Takes precedence over X-Request-Id.",
  ),
  ...SUBMISSION,
  ...ofTable(PARAMETERS),
  ...ofTable(FILTER_PARAMETERS),
  handlerQuery: {
    name: "handlerQuery",
    in: "query",
    description: "All other parameters are passed to the handler.",
    style: "form",
    explode: true,
    schema: { type: "object", additionalProperties: { type: "string" } },
    // Without an example, pages that fill forms with examples would send made-up parameters.
    example: {},
  },
  "If-None-Match": header(
    "If-None-Match",
    "The ETag that the caller has. With `Prefer: wait=N` the response waits until it changes.",
  ),
  "If-Match": header("If-Match", "Proceed only if it has one of these ETags (with `*`: if it exists); else 412."),
  "If-None-Match-write": header(
    "If-None-Match",
    "Proceed only if it has none of these ETags (with `*`: if the id is free); else 412.",
  ),
  "Last-Event-ID": header("Last-Event-ID", "The id of the last event received."),
  lastEventId: query("lastEventId", "The same, for clients that cannot set headers.", { type: "string" }),
  cursor: query("cursor", "The `next` of the previous page.", { type: "string" }),
  queueQuery: query("queue", "The queue of the task; it must accept JSON.", { ...QUEUE, default: "default" }),
} satisfies Record<string, Parameter>;

const refTo = (name: string): Reference => ({ $ref: `#/components/parameters/${name}` });

/** References to parameters of the components. */
export function parameterRefs(...names: readonly (keyof typeof parameters)[]): Reference[] {
  return names.map(refTo);
}

/** The parameters of a submission to this server; some routes take not all of them. */
export function submitParameters(
  { checkWebhook }: { readonly checkWebhook: unknown },
  wanted: (parameter: Pick<Parameter, "name" | "in">) => boolean = () => true,
): Reference[] {
  const takes = (parameter: Pick<Parameter, "name" | "in">) =>
    wanted(parameter) && (parameter.name !== "webhook" || checkWebhook !== undefined);
  const { Prefer, "X-Request-Id": id, "Idempotency-Key": key, handlerQuery } = parameters;
  const own = (shared: readonly Parameter[]) => shared.filter(takes).map(({ name }) => refTo(name));
  const options = SUBMIT_PARAMETERS.filter(takes).map((parameter) => refTo(optionName(parameter)));
  return [...own([Prefer, id, key]), ...options, ...own([handlerQuery])];
}

/** The same where the id is chosen beforehand and the answer does not wait for the task. */
export const laterParameters = (api: Parameters<typeof submitParameters>[0]): Reference[] =>
  submitParameters(api, ({ name }) => !["Prefer", "X-Request-Id", "Idempotency-Key", "dryRun"].includes(name));
