import type { Failure } from "../engine/tasks/attempt-end.ts";
import type { Handler } from "../handler/define.ts";
import type { StoredStep } from "../store/task/attempt.ts";

/**
 * A handler of the server's own that works on behalf of handlers of other queues, where these would run. The loss of its worker counts as a
 * failed attempt, and what it gives up becomes a dead letter.
 */
export interface StandIn extends Handler {
  /** The URL of the module that makes it in a child process: see {@link StandInModule}. */
  readonly module: string;
  /** The queue on behalf of whose handler it works on a task. */
  subjectOf(taskId: string): string;
  /** Timeout of an attempt at a task. */
  timeoutMsOf(taskId: string): number;
  /** What is stored when it gives up a task. */
  lastFailure(taskId: string, failure: Failure, steps: ReadonlyMap<string, StoredStep>): Failure;
}

/** What the module of a stand-in exports. */
export interface StandInModule {
  standIn(handlers: ReadonlyMap<string, Handler>): Handler;
}

/** Whether a handler works on behalf of others. */
export function isStandIn(handler: Handler): handler is StandIn {
  return "lastFailure" in handler;
}
