import { DURATION_FORM, type Duration, parseDuration } from "../config/duration.ts";

/** Marks intents across copies of this module, since a handler file may load another copy than the server. */
const INTENT = Symbol.for("paihao.intent");

/** The problem of {@link giveUp}, which the client gets: members of RFC 9457, and any extension. */
export interface Problem {
  /** HTTP status 400–599; default 500. */
  status?: number;
  title?: string;
  detail?: string;
  type?: string;
  [extension: string]: unknown;
}

/** Thrown by a handler: the task fails for good, without another attempt, and this problem is its result. */
export class GiveUp extends Error {
  readonly [INTENT] = "give-up";
  override readonly name = "GiveUp";
  readonly problem: Problem;
  constructor(problem: Problem) {
    const { detail, title } = problem;
    // A handler in JavaScript may pass anything.
    super([detail, title].find((text) => typeof text === "string") ?? "the handler gave up");
    this.problem = problem;
  }
}

/** Thrown by a handler: run the task again after `afterMs`, without counting the attempt. */
export class RetryLater extends Error {
  readonly [INTENT] = "retry-later";
  override readonly name = "RetryLater";
  /** Milliseconds from now. */
  readonly afterMs: number;
  constructor(afterMs: number) {
    super(`retry in ${afterMs} ms`);
    this.afterMs = afterMs;
  }
}

/**
 * Thrown by the server's own handlers: the attempt failed and counts; the next one comes after this time instead of the
 * backoff.
 */
export class RetryAfter extends Error {
  readonly [INTENT] = "retry-after";
  override readonly name = "RetryAfter";
  /** Milliseconds from now. */
  readonly afterMs: number;
  constructor(afterMs: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.afterMs = afterMs;
  }
}

/**
 * Creates the error to throw if a retry is pointless.
 * @throws TypeError if `status` is not an HTTP error status
 */
export function giveUp(problem: Problem): GiveUp {
  const { status } = problem;
  if (status !== undefined && !(Number.isInteger(status) && status >= 400 && status <= 599)) {
    throw new TypeError(`giveUp: status is ${JSON.stringify(status)}, expected 400–599`);
  }
  return new GiveUp(problem);
}

/**
 * Creates the error to throw if the work is only possible later.
 * @throws TypeError if `after` is not a duration
 */
export function retryLater(after: Duration): RetryLater {
  const ms = parseDuration(after);
  if (ms === undefined) throw new TypeError(`retryLater: ${JSON.stringify(after)} is not ${DURATION_FORM}`);
  return new RetryLater(ms);
}

/** Whether a thrown value is a {@link GiveUp}, of any copy of this module. */
export function isGiveUp(thrown: unknown): thrown is GiveUp {
  return intentOf(thrown) === "give-up";
}

/** Whether a thrown value is a {@link RetryLater}, of any copy of this module. */
export function isRetryLater(thrown: unknown): thrown is RetryLater {
  return intentOf(thrown) === "retry-later";
}

/** Whether a thrown value is a {@link RetryAfter}. */
export function isRetryAfter(thrown: unknown): thrown is RetryAfter {
  return intentOf(thrown) === "retry-after";
}

function intentOf(thrown: unknown): unknown {
  return typeof thrown === "object" && thrown !== null ? (thrown as Record<symbol, unknown>)[INTENT] : undefined;
}
