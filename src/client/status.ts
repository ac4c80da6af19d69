import type { Pending, Progress, Task } from "../wire/task.ts";
import type { Problem } from "./problem.ts";

/** A task in one of these states, with the members that they imply. */
type In<State extends Task["state"], Known extends Partial<Task>> = Omit<Task, "state" | "status" | keyof Known> &
  Readonly<{ state: State; status: State } & Known>;

/** It has not ended. */
interface PendingTask {
  finishedAt: null;
  error: null;
}

/** It is in line. */
type WaitingStatus = In<"waiting", PendingTask & { index: number; ahead: number; progress: null }>;

/** It is not due yet: it has a delay, or waits for its next attempt. */
type DelayedStatus = In<"scheduled" | "retrying", PendingTask & { index: null; ahead: null; progress: null }>;

/** A worker has it. */
type RunningStatus = In<"running", PendingTask & { index: 0; ahead: 0; startedAt: string }>;

interface EndedTask {
  index: null;
  ahead: null;
  eta: null;
  finishedAt: string;
}

/** It has a result. */
export interface SucceededStatus<R = unknown> extends In<"succeeded", EndedTask & { progress: Progress; error: null }> {
  /** If it is JSON below 20 kB, and the status came from {@link PaihaoClient.watch}; `result()` gets it in any case. */
  readonly result?: R;
}

/** It has no result: `error` says why in a sentence; `problem` is what `result()` throws. */
export interface UnsuccessfulStatus
  extends In<"failed" | "canceled", EndedTask & { progress: null; error: NonNullable<Task["error"]> }> {
  readonly problem?: Problem;
}

/** What is known about a task: its members depend on its `state`. */
export type Status<R = unknown> =
  | WaitingStatus
  | DelayedStatus
  | RunningStatus
  | SucceededStatus<R>
  | UnsuccessfulStatus;

/** A task that the server has accepted. */
export interface Accepted<Q extends string = string> extends Omit<Pending, "rel" | "method" | "queue"> {
  readonly queue: Q;
  /** The task had already been submitted under this id, and does not run twice. */
  readonly replayed: boolean;
}

/** Whether a task has ended. */
export function hasEnded<R>(status: Status<R>): status is SucceededStatus<R> | UnsuccessfulStatus {
  return !!status.finishedAt;
}

/** The status in an answer, unless the caller has it, and its ETag. */
export async function versionOf(response: Response): Promise<[status: Status | undefined, tag: string]> {
  return [
    response.status === 304 ? undefined : ((await response.json()) as Status),
    response.headers.get("ETag") ?? "",
  ];
}
