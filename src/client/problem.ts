import type { AnyProblem, FieldError } from "../wire/problem.ts";

/** A problem document (RFC 9457): why a request was refused, or why a task has no result. */
export interface Problem extends AnyProblem {
  readonly title: string;
  /** The invalid parts of the input. */
  readonly errors?: readonly FieldError[];
}

/**
 * What a caller can do about an error. `failed`, `canceled`, `expired` and `unknown` are about the task; `refused`: the request
 * was not accepted (invalid input, full queue, conflict …); `unauthorized`: the API key is missing, wrong, or may not do this;
 * `unreachable`: there was no usable answer after all attempts.
 */
export type ErrorKind = "failed" | "canceled" | "expired" | "unknown" | "refused" | "unauthorized" | "unreachable";

interface ErrorDetails {
  readonly retryAfter?: number | undefined;
  readonly cause?: unknown;
}

/** Every error of the client. */
export class PaihaoError extends Error {
  override readonly name: string = "PaihaoError";
  readonly kind: ErrorKind;
  readonly problem: Problem;
  /** When the same request may succeed, seconds; undefined if the server did not say. */
  readonly retryAfter: number | undefined;

  constructor(kind: ErrorKind, problem: Problem, options: ErrorDetails = {}) {
    super(messageOf(problem), options);
    this.kind = kind;
    this.problem = problem;
    this.retryAfter = options.retryAfter;
  }

  /** The code of the problem, e.g. `invalid-input`; "" for a problem that the server does not define. */
  get code(): string {
    return codeOf(this.problem);
  }
}

/** The task failed: `problem` is its handler's, or `task-failed`, `task-timeout` or `worker-lost`. */
export class TaskFailed extends PaihaoError {
  override readonly name = "TaskFailed";
}
/** The task was canceled, by someone, by its deadline, or as nobody looked at it (`problem.reason`). */
export class TaskCanceled extends PaihaoError {
  override readonly name = "TaskCanceled";
}
/** The result has expired or been deleted. */
export class TaskExpired extends PaihaoError {
  override readonly name = "TaskExpired";
}
/** There is no such task, or it belongs to another caller. */
export class TaskUnknown extends PaihaoError {
  override readonly name = "TaskUnknown";
}

/** The code of a problem in the server's catalogue, which may be below a path; "" for any other. */
function codeOf({ type }: Problem): string {
  return /^\/[^?#]*?problems\/([\w-]+)$/.exec(type)?.[1] ?? "";
}

const KINDS: Readonly<Record<string, ErrorKind | null>> = {
  // A server may send any code: exclude members of Object.prototype.
  __proto__: null,
  canceled: "canceled",
  expired: "expired",
  deleted: "expired",
  unknown: "unknown",
  "store-unavailable": "unreachable",
};

const CLASSES: Partial<Record<ErrorKind, typeof PaihaoError>> = {
  failed: TaskFailed,
  canceled: TaskCanceled,
  expired: TaskExpired,
  unknown: TaskUnknown,
};

/** The error of a problem. */
export function errorOf(problem: Problem, options?: ErrorDetails, kind = kindOf(problem)): PaihaoError {
  return new (CLASSES[kind] ?? PaihaoError)(kind, problem, options);
}

function kindOf(problem: Problem): ErrorKind {
  const { status, state } = problem;
  const code = codeOf(problem);
  const known = KINDS[code];
  // Its handler may have given it any code and status.
  if (state === "failed" && known !== "expired") return "failed";
  // From a proxy, for example.
  const other = status >= 500 && !code && !state ? "unreachable" : "refused";
  return known ?? (status === 401 || status === 403 ? "unauthorized" : other);
}

/** A problem that the client found, not the server. */
export function ownProblem(title: string, status: number, detail = ""): Problem {
  return { type: "about:blank", title, status, detail };
}

/** The detail often repeats the title, or the first of the errors. */
function messageOf({ title, detail = "", errors }: Problem): string {
  const fields = errors?.map((field) => `${field.pointer}: ${field.detail}`).join("; ");
  return [title, `${title} ${fields}`.includes(detail) ? "" : detail, fields].filter(Boolean).join(": ");
}

/** The text, if it has the form. @throws TypeError that names the invalid value, without what may be a password; nothing is sent then */
export function valid(what: string, text: string, form: RegExp): string {
  if (form.test(text)) return text;
  throw new TypeError(`${what} ${JSON.stringify(text.replace(/^.*@/s, ""))} does not match ${form}`);
}

/** An id or the name of a queue: with `..` the path would lead elsewhere. @throws TypeError */
export function named(what: "id" | "queue", text: string): string {
  return valid(what, text, /^[^\W_][\w.~-]{0,127}$/);
}
