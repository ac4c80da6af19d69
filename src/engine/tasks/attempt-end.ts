import { backoffMs } from "../../backoff.ts";
import type { Problem } from "../../handler/intents.ts";
import { type Redaction, redactedText } from "../../redact.ts";
import type { FailKind } from "../../store/task/fail.ts";
import type { Answer } from "../../task.ts";
import type { QueueSettings } from "../settings.ts";
import { catalogueResult, problemResult } from "./result.ts";

/** Why a handler was asked to stop. */
export type AbortCause = "timeout" | "canceled" | "deadline" | "abandoned" | "lease-lost" | "shutdown";

/** The reason of a task's AbortSignal. */
export class TaskAborted extends Error {
  override readonly name = "AbortError";
  override readonly cause: AbortCause;
  constructor(cause: AbortCause) {
    super(`the task must stop: ${cause}`);
    this.cause = cause;
  }
}

/** The record of a thrown value. */
export interface ErrorRecord {
  readonly type: string;
  readonly message: string;
  readonly stack: string;
}

/** What a worker over HTTP reports of an error has no stack. */
type ErrorMessage = Pick<ErrorRecord, "message"> & Partial<Pick<ErrorRecord, "stack">>;

/** How a handler ended: plain data that can be sent between processes. */
export type HandlerEnd = {
  /** What it has recorded for the gate of its queue. */
  readonly noted?: object;
} & (
  | { readonly kind: "result"; readonly result: Answer }
  /** The handler gave up: no further attempt, and this problem is the result. */
  | { readonly kind: "give-up"; readonly problem: Problem & { readonly status: number }; readonly message: string }
  /** Run it again; this attempt does not count. */
  | { readonly kind: "later"; readonly afterMs: number; readonly message?: string }
  /** The input or the result is unusable, and another attempt would not help. */
  | { readonly kind: "permanent"; readonly message: string }
  /** The handler threw; `afterMs` overrides the backoff. */
  | { readonly kind: "error"; readonly error: ErrorMessage; readonly afterMs?: number }
  /** It took longer than this, whatever it returned. */
  | { readonly kind: "timeout"; readonly timeoutMs: number }
  /** It did not settle within the grace period after its signal fired, or had not begun by then. */
  | { readonly kind: "overdue" }
  /** The lease had ended before the handler could begin. */
  | { readonly kind: "unbegun" }
  /** Its process died. */
  | { readonly kind: "lost"; readonly how: string }
);

/** A long input cannot be read at the moment: the task is reserved again a little later. */
export const INPUT_UNREAD = { kind: "later", afterMs: 1000, message: "the input could not be read" } as const;
/** A long input is no longer in the store. */
export const INPUT_GONE = { kind: "permanent", message: "the input of the task is no longer in the store" } as const;

/** The same end, with what is said of its error as operators may see it. The problem of `giveUp` is an answer to the caller, and stays. */
export function redactedEnd<End extends HandlerEnd>(end: End, redacted: Redaction): End {
  const text = (of: string) => redactedText(redacted, "message", of);
  if (end.kind === "lost") return { ...end, how: text(end.how) };
  if (end.kind === "error") {
    const { message, stack } = end.error;
    // A value that is no Error has its message in place of a stack.
    const shown = stack === undefined || stack === message ? {} : { stack: redactedText(redacted, "stack", stack) };
    return { ...end, error: { ...end.error, message: text(message), ...shown } };
  }
  return "message" in end && end.message !== undefined ? { ...end, message: text(end.message) } : end;
}

/** An attempt that did not succeed. */
export interface Failure {
  readonly kind: FailKind;
  /** Delay before the next attempt, if there is one. */
  readonly delayMs: number;
  /** For the list of latest errors. */
  readonly error: string;
  /** The error code if this ends the task. */
  readonly code: string;
  /** The result if this ends the task: a problem document. */
  readonly result: Answer;
}

/** What the end of an attempt changes in the store. */
export type AttemptEnd =
  | { readonly result: Answer }
  | { readonly failure: Failure }
  | "release" // not the handler's fault: back to its place, and the attempt does not count
  | "lose" // the task killed its process
  | "nothing"; // the task belongs to another worker by now

/** The facts about an attempt that matter for its end. */
export interface AttemptFacts {
  readonly settings: QueueSettings;
  /** From 1. */
  readonly attempt: number;
  /** Why its handler was asked to stop, if it was. */
  readonly aborted?: AbortCause | undefined;
  /** Whether the handler has begun. Default: it has. */
  readonly begun?: boolean;
  /** Whether the death of its process is a failure like any other, instead of a loss. Default: it is a loss. */
  readonly lossFails?: boolean;
}

/**
 * Decides what the end of its handler means for a task.
 * @param chance in [0, 1), for the backoff
 */
export function attemptEnd(end: HandlerEnd, facts: AttemptFacts, chance: number): AttemptEnd {
  const { aborted, settings, begun = true } = facts;
  if (aborted === "lease-lost") return "nothing";
  // Nothing has happened: it is as if the task had not been taken, and where its cancel was requested, it has nothing to undo.
  if (end.kind === "unbegun" || (aborted !== undefined && !begun)) return "release";
  if (aborted === "timeout" && settings.timeoutMs !== undefined)
    return { failure: failureOf({ kind: "timeout", timeoutMs: settings.timeoutMs }, facts, chance) };
  if (end.kind === "result") return end;
  if (aborted === "shutdown") return "release";
  if (end.kind === "lost" && !facts.lossFails) return "lose";
  return { failure: failureOf(end, facts, chance) };
}

type UnsuccessfulEnd = Exclude<HandlerEnd, { kind: "result" } | { kind: "unbegun" }>;

/**
 * The failure to store for a handler that did not succeed.
 * @param chance in [0, 1), for the backoff
 */
export function failureOf(end: UnsuccessfulEnd, { settings, attempt }: AttemptFacts, chance: number): Failure {
  const delayMs = backoffMs(settings.backoff, attempt, chance);
  const failure = { delayMs, error: textOf(end), code: "task-failed" };
  switch (end.kind) {
    case "later":
      return { ...failure, kind: "later", delayMs: end.afterMs, result: catalogueResult("task-failed") };
    case "give-up": {
      const problem = { type: "/problems/task-failed", title: "The task failed", ...end.problem };
      return { ...failure, kind: "give-up", result: problemResult(problem) };
    }
    case "timeout": {
      const result = catalogueResult("task-timeout", `The handler took longer than ${end.timeoutMs} ms.`);
      return { ...failure, kind: "retry", code: "task-timeout", result };
    }
    case "permanent":
      return { ...failure, kind: "give-up", result: catalogueResult("task-failed", end.message) };
    default: {
      const retryMs = end.kind === "error" ? (end.afterMs ?? delayMs) : delayMs;
      // The message of an unexpected error may contain secrets: it goes to the log and the dead letter, not to the caller.
      const detail = `The handler failed in each of ${settings.attempts} attempts.`;
      const stack = settings.showStacks && end.kind === "error" ? end.error.stack : undefined;
      const result = catalogueResult("task-failed", settings.attempts > 1 ? detail : undefined, stack);
      return { ...failure, kind: "retry", delayMs: retryMs, result };
    }
  }
}

function textOf(end: UnsuccessfulEnd): string {
  switch (end.kind) {
    case "later":
      return end.message ?? `asked for another try in ${end.afterMs} ms`;
    case "timeout":
      return `took longer than ${end.timeoutMs} ms`;
    case "overdue":
      return "did not stop when it was asked to";
    case "error":
      return end.error.message;
    case "lost":
      return end.how;
    default:
      return end.message;
  }
}
