import type { Header, Reference, Schema } from "./types.ts";

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
export type HeaderName = keyof typeof headers;

/** References to headers of the components. */
export function headerRefs(...names: readonly HeaderName[]): Record<string, Reference> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
