import { jsonVerb } from "../library/verb.ts";
import type { DeadCap, Retention } from "../task/record.ts";

/** A queue of a tick, with the facts about the end of its lost tasks. */
export interface TickQueue extends Retention {
  readonly queue: string;
  /** The length of its leases, if that is known. */
  readonly leaseMs?: number | null;
  readonly maxLost: number;
  readonly deadMs: number;
  /** Stored form of the result of a task that is dead because of lost workers. */
  readonly problem: string;
}

/** A task whose lease has expired. */
export interface LostTask {
  readonly queue: string;
  readonly id: string;
  readonly worker: string;
  readonly losses: number;
  readonly outcome: "waiting" | "released" | "dead" | "canceled";
}

/** A task that is ended by time: removed from the line, asked to stop if its handler runs, or failed as a turn. */
interface LateTask {
  readonly queue: string;
  readonly id: string;
  readonly verdict: "canceled" | "requested" | "failed";
  /** Its deadline has passed, nobody has looked at it, or it has lasted as long as any turn may. */
  readonly reason: "deadline" | "abandoned" | "longest";
}

/** The result of a tick. */
export interface TickAnswer {
  readonly promoted: number;
  /** Milliseconds until something is due; null when nothing is. */
  readonly nextMs: number | null;
  readonly lost: readonly LostTask[];
  readonly late: readonly LateTask[];
  /** Whether any lease is held. */
  readonly held: boolean;
  /** The queues in which a worker has probably died: a lease is about to end, and has not been renewed. */
  readonly unrenewed: readonly string[];
  /** The queues in which tasks wait. */
  readonly waiting: readonly string[];
}

/** The queues of one tick, its limits and its timing. */
interface TickRequest extends DeadCap {
  readonly items: readonly TickQueue[];
  /** Stored form of the result of a turn that has lasted too long. */
  readonly timeout: string;
  /** Of its work. */
  readonly limit: number;
  /** How long the process has deliberately waited since its last tick, if longer than usual, ms. */
  readonly pausedMs?: number;
}

/** Applies the passage of time to queues. */
export const tick = jsonVerb<TickRequest, TickAnswer>();
