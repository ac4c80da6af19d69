/**
 * The catalogue of errors that a caller can get: a stable code, its HTTP status and its title.
 * A code is a promise to clients: it is never renamed, and its status never changes.
 */
const catalogue = {
  "malformed-json": [400, "The body is not valid JSON"],
  "invalid-input": [400, "The queue does not accept this input"],
  "invalid-parameter": [400, "A parameter or header has an invalid value"],
  unauthenticated: [401, "A valid API key is required"],
  forbidden: [403, "This request is not allowed"],
  pending: [404, "The result is not there yet"],
  unknown: [404, "No task or group has this id"],
  "unknown-queue": [404, "No queue has this name"],
  "not-found": [404, "There is nothing at this path"],
  "method-not-allowed": [405, "The resource does not support this method"],
  "id-conflict": [409, "The id is already taken by another submission"],
  "not-retryable": [409, "Only a dead task can be retried"],
  "not-running": [409, "It is not the turn of this task"],
  "not-waiting": [409, "Only a task that waits can be moved"],
  declared: [409, "A handler declares this schedule"],
  canceled: [410, "The task was canceled"],
  expired: [410, "No longer kept"],
  deleted: [410, "The result was deleted"],
  "invalid-task": [410, "The task can no longer be used"],
  "precondition-failed": [412, "A condition of the request is not met"],
  "payload-too-large": [413, "The body is too large"],
  "uri-too-long": [414, "The request target is too long"],
  "unsupported-media-type": [415, "The queue does not accept this media type"],
  "wrong-host": [421, "This host name is not served here"],
  "idempotency-conflict": [422, "The Idempotency-Key was used with another input"],
  "rate-limited": [429, "Too many requests"],
  "too-many-tasks": [429, "The caller has too many tasks"],
  "task-failed": [500, "The task failed"],
  "task-timeout": [500, "The task took too long"],
  "worker-lost": [500, "The task lost its worker too often"],
  internal: [500, "An unexpected error happened on the server"],
  "no-answer": [502, "The API behind the gateway did not answer"],
  "queue-full": [503, "The queue is full"],
  "line-too-long": [503, "The line is longer than the caller allows"],
  "store-unavailable": [503, "The store cannot be reached"],
  "store-full": [503, "The store has no memory left"],
  "not-durable": [503, "The durability of the task was not confirmed in time"],
  "resolver-unavailable": [503, "A host name cannot be resolved at the moment"],
  "queue-paused": [503, "The queue is paused"],
  "turn-over": [503, "The turn of the request is over"],
  stopping: [503, "The server is stopping"],
  "answer-timeout": [504, "The API behind the gateway did not answer in time"],
  "sync-timeout": [504, "The task did not end within the time limit of a synchronous request"],
} as const satisfies Record<string, readonly [status: number, title: string]>;

/** A code of the catalogue, as it follows `/problems/` in the `type` of a problem. */
export type ErrorCode = keyof typeof catalogue;

/** An entry of the catalogue. */
export interface ErrorEntry {
  readonly code: ErrorCode;
  /** HTTP status. */
  readonly status: number;
  readonly title: string;
}

/** Every entry of the catalogue, in its order. */
export const errorEntries: readonly ErrorEntry[] = Object.entries(catalogue).map(([code, [status, title]]) => ({
  code: code as ErrorCode,
  status,
  title,
}));

/** The entry of one code. */
export function errorEntry(code: ErrorCode): ErrorEntry {
  const [status, title] = catalogue[code];
  return { code, status, title };
}

/** The one error class of the server: a code of the catalogue, a detail that a caller may read, and the cause for the log. */
export class ProblemError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  /** Members added to the problem document, e.g. `id` or `errors`. */
  readonly extensions: Readonly<Record<string, unknown>>;
  /** Response headers that belong to the problem, e.g. `Location`. */
  readonly headers: Readonly<Record<string, string>>;
  /** When the same request may succeed, seconds; undefined if unknown. */
  readonly retryAfterS: number | undefined;

  constructor(
    code: ErrorCode,
    detail?: string,
    options: {
      cause?: unknown;
      extensions?: Record<string, unknown>;
      headers?: Record<string, string>;
      retryAfterS?: number;
    } = {},
  ) {
    super(detail ?? errorEntry(code).title, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "ProblemError";
    this.code = code;
    this.status = errorEntry(code).status;
    this.extensions = options.extensions ?? {};
    this.headers = options.headers ?? {};
    this.retryAfterS = options.retryAfterS;
  }
}

/** The server cannot start because of its configuration or environment. The operator sees only the message, without a stack. */
export class StartError extends Error {
  override readonly name = "StartError";
}

/**
 * The message of anything thrown and of its cause, for a log line: the message of a ProblemError is for callers and says little.
 */
export function reasonOf(thrown: unknown): string {
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  return cause === undefined ? messageOf(thrown) : `${messageOf(thrown)}: ${messageOf(cause)}`;
}

/** How many of the errors in one error are named. */
const PARTS = 10;

/** The errors in an error, such as those of `Promise.any`, or of a host name with several addresses; the first ones of many. */
export function partsOf(thrown: unknown): readonly unknown[] {
  return thrown instanceof AggregateError ? thrown.errors.slice(0, PARTS) : [];
}

/**
 * The message of anything thrown, with those of the errors in it, for a log line or a start error. Never throws, whatever a handler has
 * thrown.
 */
export function messageOf(thrown: unknown): string {
  try {
    const parts = partsOf(thrown).map(ownMessageOf).join(", ");
    return [ownMessageOf(thrown), parts].filter((text) => text !== "").join(": ");
  } catch {
    // Its errors are no array.
    return ownMessageOf(thrown);
  }
}

function ownMessageOf(thrown: unknown): string {
  try {
    const message: unknown = typeof thrown === "object" && thrown !== null && "message" in thrown && thrown.message;
    return typeof message === "string" ? message : String(thrown);
  } catch {
    // An object without a prototype, or with a toString that throws.
    return "a value that cannot be converted to text";
  }
}
