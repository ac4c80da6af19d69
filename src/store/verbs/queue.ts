import { named, names, verb, verbOnOne, written } from "./codec.ts";
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
  /** How many tasks may start in what time: as the handler declares it, and as an operator has set it; null for any number, or not set. */
  readonly declaredRate: RateLimit | null;
  readonly setRate: RateLimit | null;
  /** The slots of each worker process, if an operator has set them. */
  readonly setConcurrency: number | null;
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
/** How many tasks may start in a time span. */
interface RateLimit {
  readonly max: number;
  readonly perMs: number;
}

const SETTINGS = ["declaredRate", "setRate", "setConcurrency"] as const;
const FIGURES = ["snapshot", "dead", "oldestMs", "lateMs", ...MINUTE, "rest", ...SETTINGS, "newcomer"] as const;

/** The figures of queues. */
export const queue = verb({
  layout: { item: ["queue"], figures: FIGURES, snapshot: SNAPSHOT },
  write: (queues: readonly string[]) => [queues.length, ...queues],
  read: (reply) => list(reply).map(queueRow),
});

/** Pauses or resumes a queue. */
export const pause = verbOnOne<{ readonly queue: string; readonly paused: boolean }, string>(["queue", "paused"]);

/**
 * Sets the rate ("max per", in ms) or the concurrency of a queue in place of the declared one, and tells its workers: "" changes nothing,
 * "-" takes back what was set.
 */
export const adjust = verbOnOne<
  { readonly queue: string; readonly rate: string; readonly concurrency: string },
  string
>([...(["queue", "rate", "concurrency"] as const)]);

const QUIET = names<{ readonly worker: string; readonly quiet: boolean }>("worker", "quiet");

/** Tells a worker to take no more work of some queues, or to take it again. */
export const quiet = verb({
  layout: { args: QUIET, item: ["queue"] },
  write: (worker: string, isQuiet: boolean, queues: readonly string[]) => [
    ...written(QUIET, { worker, quiet: isQuiet }),
    queues.length,
    ...queues,
  ],
  read: () => undefined,
});

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
    declaredRate: limitOf(text(row.declaredRate)),
    setRate: limitOf(text(row.setRate)),
    setConcurrency: optional(row.setConcurrency),
    newcomerIndex: optional(row.newcomer) ?? figures.startable ?? figures.waiting,
  };
}

/** A rate as it is stored: "max per". */
export const storedRate = ({ max, perMs }: RateLimit): string => `${max} ${perMs}`;

/** Reads "max per". */
function limitOf(stored: string): RateLimit | null {
  const [max = 0, perMs = 0] = stored.split(" ").map(Number);
  return stored === "" ? null : { max, perMs };
}

/** Reads the field `rest`. */
function restOf(stored: string): Rest | null {
  const [since, until, _ofGate, ...reason] = stored.split(" ");
  if (!since) return null;
  return { sinceMs: Number(since), untilMs: Number(until), reason: reason.join(" ") };
}
