import { PROBLEM_TYPE } from "../../engine/tasks/result.ts";
import type { ErrorCode } from "../../errors.ts";
import type { Answers, Header, Reference, RequestBody, Response, Schema } from "../route.ts";
import type { SchemaName } from "./schemas.ts";

const text: Schema = { type: "string" };
const header = (description: string, schema: Schema = text): Header => ({ description, schema });

/** Response headers, by their name in the components. */
export const headers = {
  "X-Request-Id": {
    ...header("The correlation id of the request. For a submission it is also the id of the task."),
    required: true,
  },
  Location: header(
    "The result resource of the task, or where to ask for it next. On a result: the value that the handler set.",
    {
      type: "string",
      format: "uri-reference",
    },
  ),
  "Operation-Location": header("Absolute URL of the task's monitor.", { type: "string", format: "uri" }),
  Link: header(
    'The monitor (`rel="monitor"`) and its event stream (`rel="alternate"`). On a result: the value that the handler set.',
  ),
  "Retry-After": header("Seconds after which to ask again.", {
    type: "string",
    pattern: "^[1-9][0-9]*$",
  }),
  "Preference-Applied": header("The preferences that were applied (RFC 7240 §3)."),
  "Idempotent-Replayed": header("The id was already submitted with the same input: nothing new was stored.", {
    const: "true",
  }),
  "X-Should-Retry": header("Not to be repeated by a client that repeats a 504: that would submit another task.", {
    const: "false",
  }),
  "X-Task-State": header("The state of the task."),
  "X-Queue-Index": header("The index of the task; absent if it has none.", { type: "string", pattern: "^[0-9]+$" }),
  "X-Queue-ETA": header("Seconds until the task is expected to start; absent if unknown.", {
    type: "string",
    pattern: "^[0-9]+(\\.[0-9]+)?$",
  }),
  Presence: header("After how many seconds without a look the task is canceled; absent if looks do not matter.", {
    type: "string",
    pattern: "^[0-9]+(\\.[0-9]+)?$",
  }),
  ETag: header("The version of the response. On a result: the value that the handler set, if any."),
  Expires: header("When the result expires, or what the handler set."),
  "Cache-Control": header("How long the result may be cached, or what the handler set."),
  "Last-Modified": header("Set by the handler (RFC 9110 §8.8.2)."),
  "Content-Language": header("Set by the handler (RFC 9110 §8.5)."),
  "Content-Disposition": header("Set by the handler (RFC 6266)."),
  "Content-Encoding": header("The coding in which the handler returned the bytes of the result (RFC 9110 §8.4)."),
  Allow: header("The methods that the resource supports."),
  Accept: header("The media types that the queue accepts."),
  "WWW-Authenticate": header("How to authenticate (RFC 6750 §3)."),
  RateLimit: header("What remains of the rate limit, if there is one (draft-ietf-httpapi-ratelimit-headers)."),
  "RateLimit-Policy": header("The rate limit, if there is one."),
} satisfies Record<string, Header>;

/** The name of a header of the components. */
type HeaderName = keyof typeof headers;

/** References to headers of the components. */
export function headerRefs(...names: readonly HeaderName[]): Record<string, Reference> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** A reference to a schema of the components. */
export const schemaRef = (name: SchemaName): Reference => ({ $ref: `#/components/schemas/${name}` });

/** Headers about a task that has not ended. */
export const PENDING_HEADERS: readonly HeaderName[] = [
  ...(["Location", "Operation-Location", "Link", "Retry-After"] as const),
  ...(["X-Task-State", "X-Queue-Index", "X-Queue-ETA", "Presence"] as const),
];

/** Headers that come with problems, each with some. */
const PROBLEM_HEADERS: readonly HeaderName[] = [
  ...PENDING_HEADERS,
  ...(["WWW-Authenticate", "Allow", "Accept", "X-Should-Retry"] as const),
];

/** Headers of results, including those that are problems. A handler may have set any others. */
const RESULT_HEADERS: readonly HeaderName[] = [
  ...(["ETag", "Expires", "Cache-Control", "X-Task-State", "Preference-Applied", "Idempotent-Replayed"] as const),
  ...(["Location", "Link", "Last-Modified", "Content-Language", "Content-Disposition", "Content-Encoding"] as const),
];

/** Members of the problems of some codes, in addition to those of all. */
const PROBLEM_MEMBERS: Readonly<Partial<Record<ErrorCode, SchemaName>>> = {
  "invalid-input": "InvalidInput",
  "invalid-task": "InvalidTask",
  pending: "Pending",
};

const problem: Schema = {
  allOf: [
    schemaRef("Problem"),
    ...Object.entries(PROBLEM_MEMBERS).map(([code, name]) => ({
      anyOf: [{ not: { properties: { type: { const: `/problems/${code}` } } } }, schemaRef(name)],
    })),
  ],
};

const OF_CATALOGUE = "A problem; `GET /problems/{code}` explains each.";
const OF_HANDLER = "The result, with the status that the handler chose.";
const any = { "*/*": {} };

/** A JSON response. */
export function json(description: string, schema: SchemaName, ...names: readonly HeaderName[]): Response {
  return {
    description,
    ...(names.length > 0 && { headers: headerRefs(...names) }),
    content: { "application/json": { schema: schemaRef(schema) } },
  };
}

/** The body of a request in JSON. */
export const jsonBody = (schema: SchemaName, { required = true } = {}): RequestBody => ({
  required,
  content: { "application/json": { schema: schemaRef(schema) } },
});

/** A response without a body. */
export function empty(description: string, ...names: readonly HeaderName[]): Response {
  return { description, ...(names.length > 0 && { headers: headerRefs(...names) }) };
}

/** Responses of several operations, by their name in the components. */
export const responses = {
  Problem: {
    description: OF_CATALOGUE,
    headers: headerRefs(...PROBLEM_HEADERS),
    content: { [PROBLEM_TYPE]: { schema: problem } },
  },
  ProblemOrPage: {
    description: OF_CATALOGUE,
    headers: headerRefs(...PROBLEM_HEADERS),
    content: { [PROBLEM_TYPE]: { schema: problem }, "text/html": {} },
  },
  // A handler, or an API behind a gateway, may have answered with this status and a body of its own.
  ProblemOrResult: {
    description:
      "A problem, perhaps that with which the handler gave up; or the result, with a status that has no row here.",
    headers: headerRefs(...new Set([...RESULT_HEADERS, ...PROBLEM_HEADERS])),
    content: { [PROBLEM_TYPE]: { schema: problem }, ...any },
  },
  Result: {
    description: "The result of the task, as the handler returned it.",
    headers: headerRefs(...RESULT_HEADERS),
    content: any,
  },
  ResultOrTurn: {
    description:
      "The result of the task, as the handler returned it; or, while it is the turn of its caller, its document.",
    headers: headerRefs(...new Set([...RESULT_HEADERS, ...PENDING_HEADERS])),
    content: any,
  },
  ResultWithStatus: { description: OF_HANDLER, headers: headerRefs(...RESULT_HEADERS), content: any },
  ResultUnchanged: {
    description: "The caller has the current version of the result.",
    headers: headerRefs(...RESULT_HEADERS),
  },
  ResultOrEvents: {
    description: "The result of the task, as the handler returned it, or its events if `Accept` prefers them.",
    headers: headerRefs(...new Set([...RESULT_HEADERS, ...PENDING_HEADERS])),
    content: { ...any, "text/event-stream": {} },
  },
  Accepted: json(
    "The task is stored. Collect its result at Location.",
    "Pending",
    ...PENDING_HEADERS,
    "Preference-Applied",
    "Idempotent-Replayed",
  ),
} satisfies Record<string, Response>;

/** A reference to a response of the components. */
export const responseRef = (name: keyof typeof responses): Reference => ({ $ref: `#/components/responses/${name}` });

/** The statuses below 400 that handlers may be expected to choose. Not `2XX`, of which some generators of clients make invalid code. */
const CHOSEN = ["201", "204", "301", "302", "303", "307", "308"];

/** Every response that a result may be: the handler chooses status, type and bytes, and those of a problem when it gives up. */
export const RESULTS: Answers = {
  "200": responseRef("Result"),
  ...Object.fromEntries(CHOSEN.map((status) => [status, responseRef("ResultWithStatus")])),
  "304": responseRef("ResultUnchanged"),
  default: responseRef("ProblemOrResult"),
};

/** Responses to a submission: 202, or the result if the caller waits for it. */
export const SUBMITTED: Answers = { ...RESULTS, "200": responseRef("ResultOrEvents"), "202": responseRef("Accepted") };
