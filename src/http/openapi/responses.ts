import { PROBLEM_TYPE } from "../../engine/attempt/problem.ts";
import { type ErrorCode, errorEntry } from "../../errors.ts";
import { type HeaderName, headerRefs } from "./headers.ts";
import { type SchemaName, schemaRef } from "./schemas/schemas.ts";
import type { Response, Responses, Schema } from "./types.ts";

/** Headers about a task that has not ended. */
export const PENDING_HEADERS: readonly HeaderName[] = [
  ...(["Location", "Operation-Location", "Link", "Retry-After"] as const),
  ...(["X-Task-State", "X-Queue-Index", "X-Queue-ETA", "Presence"] as const),
];

/** Headers that come with the problems of a code. */
const PROBLEM_HEADERS: Readonly<Partial<Record<ErrorCode, readonly HeaderName[]>>> = {
  pending: PENDING_HEADERS,
  unauthenticated: ["WWW-Authenticate"],
  forbidden: ["WWW-Authenticate"],
  "method-not-allowed": ["Allow"],
  "unsupported-media-type": ["Accept"],
  "rate-limited": ["Retry-After"],
  "not-durable": ["Location"],
  "sync-timeout": ["Location"],
};

/** Headers of results, including those that are problems. A handler may have set any others. */
const RESULT_HEADERS: readonly HeaderName[] = [
  ...(["ETag", "Expires", "Cache-Control", "X-Task-State", "Preference-Applied", "Idempotent-Replayed"] as const),
  ...(["Location", "Link", "Last-Modified", "Content-Language", "Content-Disposition", "Content-Encoding"] as const),
];

/** Members of the problems of a code, in addition to those of all. */
const PROBLEM_MEMBERS: Readonly<Partial<Record<ErrorCode, Schema>>> = {
  "invalid-input": schemaRef("InvalidInput"),
  "invalid-task": schemaRef("InvalidTask"),
  pending: schemaRef("Pending"),
};

/** Codes that every request may get. */
const EVERYWHERE: readonly ErrorCode[] = [
  "invalid-parameter",
  "unauthenticated",
  "forbidden",
  "uri-too-long",
  "wrong-host",
  "rate-limited",
  "internal",
  "store-unavailable",
  "store-full",
];

/** The problems of an operation, including those of all operations: one response for each status. */
export function problems(...codes: readonly ErrorCode[]): Responses {
  return grouped(codes, false);
}

/** The same for operations that also answer with a handler's problem, which can have any of these statuses. */
export function problemsBesideResults(...codes: readonly ErrorCode[]): Responses {
  return grouped(codes, true);
}

/** The problem of an operation that needs neither key nor store: wrong-host. */
export function otherHost(): Responses {
  return grouped([], false, ["wrong-host"]);
}

function grouped(codes: readonly ErrorCode[], open: boolean, always = EVERYWHERE): Responses {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of [...codes, ...always.filter((c) => !codes.includes(c))]) {
    const { status } = errorEntry(code);
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries([...byStatus].map(([status, its]) => [String(status), problemResponse(status, its, open)]));
}

function problemResponse(status: number, codes: readonly ErrorCode[], open: boolean): Response {
  const names = new Set<HeaderName>(open ? RESULT_HEADERS : []);
  for (const name of codes.flatMap((code) => PROBLEM_HEADERS[code] ?? [])) names.add(name);
  if (status === 503 || status === 504) names.add("Retry-After");
  return {
    description: codes.map((code) => `\`${code}\`: ${errorEntry(code).title}.`).join(" "),
    ...(names.size > 0 && { headers: headerRefs(...names) }),
    // A handler, or an API behind a gateway, may have answered with this status and a body of its own.
    content: { [PROBLEM_TYPE]: { schema: problemSchema(codes, open) }, ...(open && { "*/*": {} }) },
  };
}

function problemSchema(codes: readonly ErrorCode[], open: boolean): Schema {
  const kinds = codes.map((code): Schema => {
    const members = { type: "object", required: ["type"], properties: { type: { const: `/problems/${code}` } } };
    const more = PROBLEM_MEMBERS[code];
    return more ? { allOf: [members, more] } : members;
  });
  if (open) return { anyOf: [...kinds.map((kind) => ({ allOf: [schemaRef("Problem"), kind] })), schemaRef("Problem")] };
  return { allOf: [schemaRef("Problem"), kinds.length === 1 ? (kinds[0] ?? {}) : { oneOf: kinds }] };
}

/** A JSON response. */
export function json(description: string, schema: SchemaName, ...names: readonly HeaderName[]): Response {
  return {
    description,
    ...(names.length > 0 && { headers: headerRefs(...names) }),
    content: { "application/json": { schema: schemaRef(schema) } },
  };
}

/** A response without a body. */
export function empty(description: string, ...names: readonly HeaderName[]): Response {
  return { description, ...(names.length > 0 && { headers: headerRefs(...names) }) };
}

/** 202: the task is stored; its result comes later. */
export const accepted: Response = json(
  "The task is stored. Collect its result at Location.",
  "Pending",
  ...PENDING_HEADERS,
  "Preference-Applied",
  "Idempotent-Replayed",
);

/** 202 with the monitor's document. */
export const acceptedTask = (description: string): Response => json(description, "Task", ...PENDING_HEADERS);

/**
 * Every response that a result may be: the handler chooses status, type and bytes, and those of a problem when it gives up.
 */
export function results(): Responses {
  const problem = { [PROBLEM_TYPE]: { schema: schemaRef("Problem") } };
  const headers = headerRefs(...RESULT_HEADERS);
  const any = { "*/*": {} };
  return {
    "200": { description: "The result of the task, as the handler returned it.", headers, content: any },
    "2XX": { description: "The result, with the status that the handler chose.", headers, content: any },
    "304": { description: "The caller has the current version of the result.", headers },
    "3XX": { description: "The result, with the status that the handler chose.", headers, content: any },
    "4XX": { description: "The problem that the handler gave up with.", headers, content: problem },
    "5XX": { description: "The problem that the handler gave up with.", headers, content: problem },
  };
}

/** 200 of a submission: the result, or the events of the task with the headers of a 202. */
export const resultOrEvents: Response = {
  description: "The result of the task, as the handler returned it, or its events if `Accept` prefers them.",
  headers: headerRefs(...new Set([...RESULT_HEADERS, ...PENDING_HEADERS])),
  content: { "*/*": {}, "text/event-stream": {} },
};

/** The codes of tasks that have ended without a result to collect. */
export const ENDED: readonly ErrorCode[] = ["canceled", "expired", "deleted"];
/** The codes of tasks that failed. */
export const FAILED: readonly ErrorCode[] = ["task-failed", "task-timeout", "worker-lost"];

/** Responses that are also available as an HTML page. */
export const alsoAsPages = (responses: Responses): Responses =>
  Object.fromEntries(
    Object.entries(responses).map(([status, response]) => [
      status,
      { ...response, content: { ...response.content, "text/html": {} } },
    ]),
  );
