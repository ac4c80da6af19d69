import type { Problem } from "./problem.ts";

/** When a task's turn will come. */
export interface Eta {
  /** Seconds until it starts; in about 80 of 100 cases between `low` and `high`. */
  readonly seconds: number;
  readonly low: number;
  readonly high: number;
  readonly basis: "running" | "idle" | "schedule" | "history";
  /** Number of service times that the estimate is based on. */
  readonly samples: number;
}

/** A link to a resource of a task; relative to the server, and signed if it signs links. */
export interface Link {
  readonly rel: string;
  readonly href: string;
  readonly method: string;
}

/** How far a task is. */
export interface Progress {
  /** 0–100. */
  readonly percent: number;
  readonly message: string | null;
  /** From the service times of others, since the handler reports none. */
  readonly estimated: boolean;
}

/** What can be done to a task: the first two to one that has not ended, the others to one that has. */
export type TaskAction = "cancel" | "replace" | "delete" | "retry";

/** What can be done with a queue; the last three with its tasks, many at once. */
export type QueueAction = "submit" | "list" | "pause" | "resume" | "cancel" | "retry" | "delete";

/** What all states have in common. Times are RFC 3339. */
interface AnyStatus {
  readonly id: string;
  readonly queue: string;
  /** How many tasks of the queue run and wait. */
  readonly running: number;
  readonly waiting: number;
  /** The number of the latest attempt; 0 before the first. */
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly cancelRequested: boolean;
  /** As many tasks of its key run as may, so that it cannot start, whatever else it waits for. */
  readonly held: boolean;
  readonly createdAt: string;
  readonly deadlineAt: string | null;
  /** What this client's key can do to it now. */
  readonly actions: readonly TaskAction[];
  readonly links: readonly Link[];
}

interface PendingStatus extends AnyStatus {
  readonly startedAt: string | null;
  readonly eta: Eta | null;
  readonly finishedAt: null;
  readonly expiresAt: string | null;
  readonly error: null;
}

/** In line. */
interface WaitingStatus extends PendingStatus {
  readonly state: "waiting";
  /** How many tasks of its queue stand before it. */
  readonly index: number;
  /** The same and those that run: all the work in front. */
  readonly ahead: number;
  readonly progress: null;
}

/** Not due yet: it has a delay, or waits for its next attempt. */
interface DelayedStatus extends PendingStatus {
  readonly state: "scheduled" | "retrying";
  readonly index: null;
  readonly ahead: null;
  readonly progress: null;
}

/** A worker has it. */
interface RunningStatus extends PendingStatus {
  readonly state: "running";
  readonly index: 0;
  readonly ahead: 0;
  readonly startedAt: string;
  readonly progress: Progress | null;
}

interface EndedStatus extends AnyStatus {
  readonly index: null;
  readonly ahead: null;
  readonly eta: null;
  readonly startedAt: string | null;
  readonly finishedAt: string;
  readonly expiresAt: string | null;
}

/** It has a result. */
export interface SucceededStatus<R = unknown> extends EndedStatus {
  readonly state: "succeeded";
  readonly progress: Progress;
  readonly error: null;
  /** If it is JSON below 20 kB, and the status came from {@link PaihaoClient.watch}; `result()` gets it in any case. */
  readonly result?: R;
}

/** It has no result: `error` says why in a sentence; `problem` is what `result()` throws. */
export interface UnsuccessfulStatus extends EndedStatus {
  readonly state: "failed" | "canceled";
  readonly progress: null;
  readonly error: { readonly code: string; readonly message: string };
  readonly problem?: Problem;
}

/** What is known of a task: which members there are depends on its `state`. */
export type Status<R = unknown> =
  | WaitingStatus
  | DelayedStatus
  | RunningStatus
  | SucceededStatus<R>
  | UnsuccessfulStatus;

/** A task that the server has accepted. */
export interface Accepted<Q extends string = string> {
  readonly id: string;
  readonly queue: Q;
  readonly state: Status["state"];
  /** How many tasks stand before it; null if it has no place in line. */
  readonly index: number | null;
  readonly eta: Eta | null;
  readonly links: readonly Link[];
  /** Path of the result; signed if the server signs links, so that it can be handed to somebody without a key. */
  readonly href: string;
  /** The id was known: the task was submitted before, and does not run twice. */
  readonly replayed: boolean;
}

/** Where a submission would stand. */
export interface Quote {
  readonly queue: string;
  readonly index: number | null;
  readonly eta: Eta | null;
}

/** A value that a handler has written. */
export interface Output {
  /** Rises by one with every value. */
  readonly seq: number;
  /** Rises with every start of the task: what an earlier one has written no longer counts. */
  readonly run: number;
  readonly attempt: number;
  readonly data: unknown;
}

/** A queue and its figures. */
export interface Queue {
  readonly name: string;
  /** No process has a handler for it any more: what it holds will not run. */
  readonly orphaned: boolean;
  readonly paused: boolean;
  readonly waiting: number;
  readonly scheduled: number;
  readonly running: number;
  readonly dead: number;
  readonly workers: number;
  readonly slots: number;
  readonly oldestWaitingSeconds: number | null;
  /** Seconds. */
  readonly serviceTime: { readonly mean: number | null; readonly samples: number };
  /** Tasks a second, over the last minute. */
  readonly rate: { readonly accepted: number; readonly finished: number };
  /** Of a newcomer. */
  readonly eta: Eta | null;
  readonly order: "arrival" | "fair";
  /** A gateway whose API is down: it takes no work but a probe now and then. */
  readonly resting: { readonly since: string; readonly reason: string; readonly nextProbe: string } | null;
  readonly slotsWanted: number | null;
  readonly consumes: readonly string[];
  /** JSON Schema of the input; null if there is none. */
  readonly input: Readonly<Record<string, unknown>> | null;
  /** What this client's key can do with it now. */
  readonly actions: readonly QueueAction[];
}

/** What became of one input of a batch. */
export type Verdict =
  | {
      readonly line: number;
      readonly id: string;
      readonly href: string;
      readonly index: number | null;
      readonly problem?: never;
    }
  | { readonly line: number; readonly problem: Problem };

/** Whether a task has ended. */
export function hasEnded<R>(status: Status<R>): status is SucceededStatus<R> | UnsuccessfulStatus {
  return status.finishedAt !== null;
}
