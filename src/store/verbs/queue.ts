import { named, verb, verbOnOne } from "./codec.ts";
import { list, number, optional, type Reply, text } from "./reply.ts";
import { type QueueSnapshot, SNAPSHOT, snapshotOf } from "./snapshot.ts";

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
  /** How many tasks are before a newcomer; in a fair line, before one of default priority whose line key has nothing waiting. */
  readonly newcomerIndex: number;
}

/** Why and for how long the gate of a queue lets nothing through; times in ms. */
interface Rest {
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly reason: string;
}

const MINUTE = ["accepted", "finished", "failed"] as const;
const FIGURES = ["snapshot", "dead", "oldestMs", "lateMs", ...MINUTE, "rest", "newcomer"] as const;

/** The figures of queues. */
export const queue = verb({
  layout: { item: ["queue"], figures: FIGURES, snapshot: SNAPSHOT },
  write: (queues: readonly string[]) => [queues.length, ...queues],
  read: (reply) => list(reply).map(queueRow),
});

/** Pauses or resumes a queue. */
export const pause = verbOnOne<{ readonly queue: string; readonly paused: boolean }, string>(["queue", "paused"]);

function queueRow(reply: Reply): QueueRow {
  const row = named(FIGURES, reply);
  const figures = snapshotOf(row.snapshot);
  return {
    snapshot: figures,
    dead: number(row.dead),
    oldestWaitingMs: optional(row.oldestMs),
    lateMs: optional(row.lateMs),
    acceptedLastMinute: number(row.accepted),
    finishedLastMinute: number(row.finished),
    failedLastMinute: number(row.failed),
    rest: restOf(text(row.rest)),
    newcomerIndex: optional(row.newcomer) ?? figures.startable ?? figures.waiting,
  };
}

/** Reads the field `rest`. */
function restOf(stored: string): Rest | null {
  const [since, until, _ofGate, ...reason] = stored.split(" ");
  if (!since) return null;
  return { sinceMs: Number(since), untilMs: Number(until), reason: reason.join(" ") };
}
