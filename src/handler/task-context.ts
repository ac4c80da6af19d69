import type { Logger } from "../log.ts";
import type { TraceHeaders } from "../trace/trace-context.ts";

/** What a handler gets in addition to its input. */
export interface TaskContext {
  readonly id: string;
  readonly queue: string;
  /** The number of this attempt, from 1. A lost worker does not count as an attempt. */
  readonly attempt: number;
  readonly maxAttempts: number;
  /** Increases with every reservation of the queue: pass it to a resource that must refuse late writers. */
  readonly fence: number;
  /** Fires at the timeout, on cancel, at the task's deadline, when nobody has looked at it for its `presence`, when the lease is lost and at shutdown; its `reason` says which. */
  readonly signal: AbortSignal;
  /** A log whose lines have the task's id. The latest 50 of each attempt are kept with the task, for operators. */
  readonly log: Logger;
  /** The query parameters of the submission, except those of the server. */
  readonly query: Readonly<Record<string, string>>;
  /** Media type of the input: `application/json`, or one that `consumes` names. */
  readonly mediaType: string;
  readonly submittedAt: Date;
  /** Name of the API key that submitted the task; null without keys. */
  readonly caller: string | null;
  /**
   * `traceparent` and `tracestate` (W3C Trace Context), to be sent with requests that belong to the task; empty if it is not
   * part of a trace.
   */
  readonly traceHeaders: TraceHeaders;
  /** Reports the progress, 0–100. Not awaited; of several calls in quick succession the last wins. */
  progress(percent: number, message?: string): void;
  /**
   * Writes a JSON value, or a string for text, that callers may follow while the task runs (`/v1/requests/{id}/output`). Need not be
   * awaited: values are kept in order, and the result is stored after them. A task writes at most MAX_OUTPUT, over all attempts.
   * @throws by rejecting, which ends nothing if it is not awaited: TypeError for what is not JSON; an error when there is no room
   *   for the value, or the lease is lost
   */
  write(value: unknown): Promise<void>;
  /**
   * Does a part of the work once: its value is stored with the task, and later attempts get the stored value. The value must be
   * JSON. After a crash between the work and its storing, the work is done again: make it idempotent by `task.id`. If the
   * handler has an `undo` for the step, that is called when the task fails for good, is canceled while it runs, or its result
   * is deleted.
   * @throws TypeError for an invalid name or a value that is not JSON; the signal's reason if it has fired
   */
  step<T>(name: string, work: () => Promise<T> | T): Promise<T>;
}

/** What is known of a task when it is submitted. */
export type SubmittedTask = Pick<TaskContext, "id" | "queue" | "query" | "mediaType" | "caller">;

/** Marks it on the task across copies of this module, since a handler file may load another copy than the server. */
const NOTED = Symbol.for("paihao.noted");

/** Records what the attempt has shown for the gate of its queue, as plain data; the last record counts. */
export function note(task: TaskContext, seen: object): void {
  Object.assign(task, { [NOTED]: seen });
}

/** What the handler of a task has recorded. */
export function notedOn(task: TaskContext): object | undefined {
  return (task as { readonly [NOTED]?: object })[NOTED];
}
