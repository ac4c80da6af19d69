/** The states of a task. The last three are terminal: a task ends in exactly one of them. */
export const STATES = ["waiting", "scheduled", "running", "retrying", "succeeded", "failed", "canceled"] as const;
export type State = (typeof STATES)[number];

/** The terminal states. */
export type Outcome = "succeeded" | "failed" | "canceled";

/** Whether a state is terminal. */
export function isOutcome(state: State): state is Outcome {
  return state === "succeeded" || state === "failed" || state === "canceled";
}

/** What a caller can do to a task: the first two to one that has not ended, the others to one that has. */
export const TASK_ACTIONS = ["cancel", "replace", "move", "place", "delete", "retry", "again"] as const;
export type TaskAction = (typeof TASK_ACTIONS)[number];

/** What a caller can do with a queue; the last three with its tasks, many at once. */
export const QUEUE_ACTIONS = ["submit", "list", "pause", "resume", "adjust", "cancel", "retry", "delete"] as const;

/** What a schedule can do about due times that it has missed, the default first. */
export const MISSED = ["once", "skip", "all"] as const;
/** What it can do while its task of before has not ended, the default first. */
export const OVERLAP = ["queue", "skip"] as const;

/** The ids of tasks: 1–128 characters, the first a letter or digit. Those of the server's own tasks have colons as well. */
export const ID_FORM = /^[A-Za-z0-9][A-Za-z0-9._~-]{0,127}$/;

/** Whether a value can be the id of a task. */
export function isId(value: string): boolean {
  return ID_FORM.test(value);
}

/** Whether an id is that of one of the server's own tasks, which follow from another: only operators look at these. */
export function isFollower(id: string): boolean {
  const [owner = "", kind, ...more] = id.split(":");
  return isId(owner) && (kind === "webhook" || kind === "undo") && more.length > 0 && more.every(isId);
}

/** How the id of a task that a schedule submits ends: with its due time. */
const DUE_TIME = /~\d{8}T\d{6}Z$/;

/** Whether a caller may choose an id: who could take that of a due time before the schedule would keep its task from being submitted. */
export function mayBeChosen(id: string): boolean {
  return isId(id) && !DUE_TIME.test(id);
}

/** The names that queues may have: 1–64 characters of `a–z 0–9 . _ -`, the first a letter or digit. */
export const QUEUE_FORM = /^[a-z0-9][a-z0-9._-]{0,63}$/;

/** Whether a value can be the name of a queue. */
export function isQueueName(value: string): boolean {
  return QUEUE_FORM.test(value);
}

/** Priority classes as in RFC 9218: 0 is the most urgent. */
export const PRIORITY = { most: 0, default: 3, least: 7 } as const;

/** The longest delay that a submission may ask for, seconds: a year. */
export const LONGEST_DELAY_S = 366 * 86_400;
/** How long a task may go without a look, seconds; the shortest leaves room for a few. */
export const PRESENCE_S = { least: 5, most: 3600 } as const;

/** The input of a task as it is stored: its bytes and their media type. */
export interface Input {
  readonly bytes: Uint8Array;
  /** Media type without parameters, in lower case; `application/json` for a JSON value. */
  readonly mediaType: string;
}

/** The bytes of a stored value. */
export interface Body {
  readonly body: Uint8Array;
  /** What follows `body` in a long one of which only the beginning was read; absent if `body` is all. */
  readonly rest?: BodyRest;
}

/** The HTTP-shaped answer of a task, as `GET /v1/requests/{id}` gives it. */
export interface Result extends Body {
  /** HTTP status, 200–599. */
  readonly status: number;
  /** Content type; null without a body. */
  readonly contentType: string | null;
  /** Further response headers from the handler, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The rest of a long body, which is read when it can be sent. */
export interface BodyRest {
  readonly bytes: number;
  /** Reads it a piece at a time. @throws ProblemError store-unavailable, or expired if it is gone meanwhile */
  pieces(): AsyncIterable<Uint8Array>;
}

/** A result before it is stored: a text body is still a string. */
export interface Answer extends Omit<Result, "body" | "rest"> {
  readonly body: string | Uint8Array;
}

const JSON_TYPE = /^(?:application\/json|[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+\+json)[ \t]*(?:;|$)/i;

/** Whether a content type says JSON: `application/json`, or any with the suffix `+json` (RFC 6839 §3.1). */
export function isJsonType(type: string | null): boolean {
  return type !== null && JSON_TYPE.test(type);
}

/** The media type of an input that is a line of JSON, which says what it is, and then bytes: the requests of gateways. */
export const HEADED_TYPE = "application/vnd.paihao.request";
