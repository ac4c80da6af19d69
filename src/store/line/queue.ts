import { jsonVerb, list } from "../library/verb.ts";
import type { TickQueue } from "../ops/tick.ts";
import { type QueueSnapshot, snapshotOf } from "./snapshot.ts";

/** A queue's figures for operators. */
export interface QueueRow {
  readonly snapshot: QueueSnapshot;
  readonly dead: number;
  readonly oldestWaitingMs: number | null;
  /** How long the first scheduled or retrying task has been due; null if none is. */
  readonly lateMs: number | null;
  readonly acceptedLastMinute: number;
  readonly finishedLastMinute: number;
  /** Of these, how many failed. */
  readonly failedLastMinute: number;
  /** Null unless its gate lets nothing through. */
  readonly rest: Rest | null;
  /** How many tasks may start in what time: as the handler declares it, and as an operator has set it; null for any number, or not set. */
  readonly declaredRate: RateLimit | null;
  readonly setRate: RateLimit | null;
  /** The slots of each worker process, if an operator has set them. */
  readonly setConcurrency: number | null;
  /** How many of its tasks may run at once over all processes: as its handler declares it, and as an operator has set it; null for any number. */
  readonly declaredTotal: number | null;
  readonly setTotal: number | null;
  /** Of a queue with turns, for how long one may last, 0 for any time; null for any other. */
  readonly longestTurnMs: number | null;
  /** How many tasks are before a newcomer; in a fair line, before one of default priority whose line key has nothing waiting. */
  readonly newcomerIndex: number;
}

/** Why and for how long the gate of a queue lets nothing through; times in ms. */
interface Rest {
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly reason: string;
}

/** How many tasks may start in a time span. */
interface RateLimit {
  readonly max: number;
  readonly perMs: number;
}

/** The figures of a queue as queue.lua answers them. */
interface StoredRow extends Omit<QueueRow, "snapshot" | "rest" | "declaredRate" | "setRate" | "newcomerIndex"> {
  readonly rest: string | null;
  readonly declaredRate: string | null;
  readonly setRate: string | null;
  /** Null if the line is not fair. */
  readonly newcomer: number | null;
}

/** The figures of queues. */
export const queue = jsonVerb<readonly string[], readonly QueueRow[]>({
  sent: (queues) => ({ items: queues }),
  read: (rows: readonly StoredRow[], { beside }) => {
    const snapshots = list(beside).map(snapshotOf);
    return rows.flatMap((row, n) => queueRow(row, snapshots[n]));
  },
});

/** Pauses or resumes a queue. */
export const pause = jsonVerb<{ readonly queue: string; readonly paused: boolean }, null>();

/**
 * Sets the rate ("max per", in ms), the concurrency or the total of a queue in place of the declared one, and tells its workers: "" changes
 * nothing, "-" takes back what was set.
 */
export const adjust = jsonVerb<
  { readonly queue: string; readonly rate: string; readonly concurrency: string; readonly total: string },
  null
>();

/** Tells a worker to take no more work of some queues, or to take it again. */
export const quiet = jsonVerb<
  { readonly worker: string; readonly quiet: boolean; readonly queues: readonly string[] },
  null
>();

function queueRow({ newcomer, ...row }: StoredRow, snapshot: QueueSnapshot | undefined): QueueRow[] {
  if (snapshot === undefined) return [];
  const newcomerIndex = newcomer ?? snapshot.startable ?? snapshot.waiting;
  const { rest, declaredRate, setRate } = row;
  const stored = { rest: restOf(rest), declaredRate: limitOf(declaredRate), setRate: limitOf(setRate) };
  return [{ ...row, ...stored, snapshot, newcomerIndex }];
}

/** A rate as it is stored: "max per". */
export const storedRate = ({ max, perMs }: RateLimit): string => `${max} ${perMs}`;

/** Reads "max per". */
function limitOf(stored: string | null): RateLimit | null {
  const [max = 0, perMs = 0] = (stored ?? "").split(" ").map(Number);
  return stored === null ? null : { max, perMs };
}

/** Reads the field `rest`. */
function restOf(stored: string | null): Rest | null {
  const [since, until, _ofGate, ...reason] = (stored ?? "").split(" ");
  if (!since) return null;
  return { sinceMs: Number(since), untilMs: Number(until), reason: reason.join(" ") };
}

/** The queue of a handler. */
export interface OwnQueue extends TickQueue {
  /** Null for turns, of which nobody renews a lease. */
  readonly leaseMs: number | null;
  /** How long a worker takes to start, ms, and its slots, with a space between; "" if its handler does not say. */
  readonly warmup: string;
  /** How many of its tasks may start in how many ms, with a space between; "" for any number. */
  readonly rate: string;
  /** How many may run at once over all processes; if it has turns, then a space and for how long one may last, ms, 0 for any time; "" for any number. */
  readonly total: string;
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
