import type { Failure } from "../engine/fail.ts";
import { catalogueResult, problemResult } from "../engine/problem.ts";
import { backoffMs, type QueueSettings } from "../engine/settings.ts";
import type { Answer } from "../task.ts";
import type { AbortCause } from "./abort.ts";
import type { Outcome } from "./sandbox/outcome.ts";

/** What the store is told at the end of an attempt; "nothing" when the task is another worker's by now. */
export type Ending =
  | { readonly result: Answer }
  | { readonly failure: Failure }
  | "release" // it was not the handler's fault: back to its place, and the attempt does not count
  | "lose" // the task killed its process
  | "nothing";

/** What an attempt was, where it matters for its end. */
export interface AttemptFacts {
  readonly settings: QueueSettings;
  /** From 1. */
  readonly attempt: number;
  /** Why its handler was asked to stop, if it was. */
  readonly aborted: AbortCause | undefined;
}

/**
 * Decides what an outcome means for the task.
 * @param chance in [0, 1), for the backoff
 */
export function conclude(outcome: Outcome, facts: AttemptFacts, chance: number): Ending {
  const { settings, aborted } = facts;
  if (aborted === "lease-lost") return "nothing";
  if (aborted === "timeout") return { failure: timedOut(settings, backoffMs(settings.backoff, facts.attempt, chance)) };
  if (outcome.kind === "result") return outcome;
  if (aborted === "shutdown") return "release";
  if (outcome.kind === "lost") return "lose";
  return { failure: failureOf(outcome, facts, chance) };
}

type Failed = Exclude<Outcome, { kind: "result" } | { kind: "lost" }>;

function failureOf(outcome: Failed, { settings, attempt }: AttemptFacts, chance: number): Failure {
  const delayMs = backoffMs(settings.backoff, attempt, chance);
  const failure = { delayMs, error: textOf(outcome), code: "task-failed" };
  switch (outcome.kind) {
    case "later":
      return { ...failure, kind: "later", delayMs: outcome.afterMs, result: catalogueResult("task-failed") };
    case "give-up": {
      const problem = { type: "/problems/task-failed", title: "The task failed", ...outcome.problem };
      return { ...failure, kind: "give-up", result: problemResult(problem) };
    }
    case "unfit":
      return { ...failure, kind: "give-up", result: catalogueResult("task-failed", outcome.message) };
    default: {
      const retryMs = outcome.kind === "error" ? (outcome.afterMs ?? delayMs) : delayMs;
      // What a handler throws unasked may hold secrets: it goes to the log and the dead letter, not to the caller.
      const detail = `The handler failed in each of ${settings.attempts} attempts.`;
      const result = catalogueResult("task-failed", settings.attempts > 1 ? detail : undefined);
      return { ...failure, kind: "retry", delayMs: retryMs, result };
    }
  }
}

function timedOut(settings: QueueSettings, delayMs: number): Failure {
  return {
    kind: "retry",
    delayMs,
    code: "task-timeout",
    error: `took longer than ${settings.timeoutMs} ms`,
    result: catalogueResult("task-timeout", `The handler took longer than ${settings.timeoutMs} ms.`),
  };
}

function textOf(outcome: Failed): string {
  switch (outcome.kind) {
    case "later":
      return `asked for another try in ${outcome.afterMs} ms`;
    case "overdue":
      return "did not stop when it was asked to";
    case "error":
      return outcome.error.message;
    default:
      return outcome.message;
  }
}
