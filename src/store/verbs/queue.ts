import { list, number, optional, text } from "./reply.ts";
import type { Reply, Script } from "./script.ts";
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
  readonly rest: Rest | null;
  /** How many stand before a newcomer; in a fair line, before one of usual priority whose key does not wait. */
  readonly newcomerIndex: number;
}

/** The rest of a queue whose target is down; times in ms. */
interface Rest {
  readonly sinceMs: number;
  readonly nextProbeMs: number;
  readonly reason: string;
}

/** The figures of queues. */
export const queue =
  (script: Script) =>
  async (tag: string, names: readonly string[]): Promise<QueueRow[]> =>
    list(await script.text(tag, names)).map(queueRow);

function queueRow(reply: Reply): QueueRow {
  const [snapshot, dead, oldest, accepted, finished, rest, newcomer, failed, late] = list(reply);
  const figures = snapshotOf(snapshot);
  return {
    snapshot: figures,
    dead: number(dead),
    oldestWaitingMs: optional(oldest),
    lateMs: optional(late),
    acceptedLastMinute: number(accepted),
    finishedLastMinute: number(finished),
    failedLastMinute: number(failed),
    rest: restOf(text(rest)),
    newcomerIndex: optional(newcomer) ?? figures.startable ?? figures.waiting,
  };
}

/** Reads what lua/breaker.lua writes. */
function restOf(stored: string): Rest | null {
  const [since, nextProbe, _probes, ...reason] = stored.split(" ");
  if (!since) return null;
  return { sinceMs: Number(since), nextProbeMs: Number(nextProbe), reason: reason.join(" ") };
}
