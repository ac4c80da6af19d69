import { jsonVerb } from "../library/verb.ts";
import type { TickQueue } from "../ops/tick.ts";

/** The queue of a handler. */
export interface OwnQueue extends TickQueue {
  readonly leaseMs: number;
  /** How long a worker takes to start, ms, and its slots, with a space between; "" if its handler does not say. */
  readonly warmup: string;
  /** How many of its tasks may start in how many ms, with a space between; "" for any number. */
  readonly rate: string;
}

/** The facts that any process needs to maintain a queue. */
export interface RegisteredQueue extends Omit<TickQueue, "problem"> {
  /** Null if no process has registered it. */
  readonly leaseMs: number | null;
  /** How long ago a process with a handler for it last registered it, ms. */
  readonly silentMs: number;
}

/** The queues of a process, at most BATCH_LIMIT. */
interface Registration {
  readonly queues: readonly Omit<OwnQueue, "problem">[];
  /** After how long queues without a handler and tasks are removed, ms; null: none are removed or returned. */
  readonly deleteAfterMs: number | null;
}

/** Registers queues; returns all that are registered. */
export const register = jsonVerb<Registration, readonly RegisteredQueue[]>();
