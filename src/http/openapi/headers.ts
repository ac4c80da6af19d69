import type { Header, Reference, Schema } from "./types.ts";

const text: Schema = { type: "string" };
const header = (description: string, schema: Schema = text): Header => ({ description, schema });

/** Headers of answers, by the name under which they stand in the components. */
export const headers = {
  "X-Request-Id": {
    ...header("The correlation id of the request; of a submission also the id of the task."),
    required: true,
  },
  Location: header("The result resource of the task, or where it is to be asked for; of a result its own.", {
    type: "string",
    format: "uri-reference",
  }),
  "Operation-Location": header("The monitor of the task, absolute.", { type: "string", format: "uri" }),
  Link: header('The monitor (`rel="monitor"`) and its events (`rel="alternate"`); of a result its own.'),
  "Retry-After": header("Seconds after which it makes sense to ask again.", {
    type: "string",
    pattern: "^[1-9][0-9]*$",
  }),
  "Preference-Applied": header("The preferences that shaped the answer (RFC 7240 §3)."),
  "Idempotent-Replayed": header("The id was known, with the same input: nothing was submitted.", { const: "true" }),
  "X-Task-State": header("The state of the task."),
  "X-Queue-Index": header("The index of the task; absent where it has none.", { type: "string", pattern: "^[0-9]+$" }),
  "X-Queue-ETA": header("Seconds until the task is expected to start; absent where that is not known.", {
    type: "string",
    pattern: "^[0-9]+(\\.[0-9]+)?$",
  }),
  ETag: header("The version of what is answered; of a result its own, where its handler gave it one."),
  Expires: header("When the result expires, or what its handler says."),
  "Cache-Control": header("How long the result may be kept, or what its handler says."),
  "Last-Modified": header("What the handler says of its result (RFC 9110 §8.8.2)."),
  "Content-Language": header("What the handler says of its result (RFC 9110 §8.5)."),
  "Content-Disposition": header("What the handler says of its result (RFC 6266)."),
  "Content-Encoding": header("The coding of the result's bytes, as the handler made them (RFC 9110 §8.4)."),
  Allow: header("The methods of the resource."),
  Accept: header("The media types that would have been accepted."),
  "WWW-Authenticate": header("How to authenticate (RFC 6750 §3)."),
  RateLimit: header("What is left of the limit, where there is one (draft-ietf-httpapi-ratelimit-headers)."),
  "RateLimit-Policy": header("The limit, where there is one."),
} satisfies Record<string, Header>;

/** The name of a header of the components. */
export type HeaderName = keyof typeof headers;

/** References to headers of the components. */
export function headerRefs(...names: readonly HeaderName[]): Record<string, Reference> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
