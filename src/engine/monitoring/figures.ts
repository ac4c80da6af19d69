import type { Keys } from "../../store/keys.ts";
import {
  BATCH_LIMIT,
  eitherStart,
  type QueueRow,
  type QueueSnapshot,
  type Scripts,
} from "../../store/verbs/scripts.ts";

/** The figures of queues, summed over the partitions, in the given order. */
export async function figuresOf(scripts: Scripts, keys: Keys, queues: readonly string[]): Promise<QueueRow[]> {
  const rows: QueueRow[] = [];
  // In batches: one script over a thousand queues would block Redis.
  for (let i = 0; i < queues.length; i += BATCH_LIMIT) {
    const some = queues.slice(i, i + BATCH_LIMIT);
    const [first = [], ...rest] = await Promise.all(keys.tags.map((tag) => scripts.queue(tag, some)));
    rows.push(...first.map((row, n) => rest.reduce((sum, part) => addFigures(sum, part[n]), row)));
  }
  return rows;
}

/** Whether a queue has any task that has not ended for good. */
export function holdsTasks({ snapshot, dead }: QueueRow): boolean {
  return snapshot.waiting + snapshot.scheduled + snapshot.running + dead > 0;
}

function addFigures(a: QueueRow, b: QueueRow | undefined): QueueRow {
  if (!b) return a;
  const samples = a.snapshot.samples + b.snapshot.samples;
  const weighted = (x: number | null, y: number | null): number | null =>
    x === null || y === null ? (x ?? y) : (x * a.snapshot.samples + y * b.snapshot.samples) / samples;
  return {
    snapshot: {
      ...a.snapshot,
      waiting: a.snapshot.waiting + b.snapshot.waiting,
      ...startableOf(a.snapshot, b.snapshot),
      scheduled: a.snapshot.scheduled + b.snapshot.scheduled,
      running: a.snapshot.running + b.snapshot.running,
      paused: a.snapshot.paused || b.snapshot.paused,
      breakerOpen: a.snapshot.breakerOpen || b.snapshot.breakerOpen,
      meanMs: weighted(a.snapshot.meanMs, b.snapshot.meanMs),
      variance: weighted(a.snapshot.variance, b.snapshot.variance),
      slowMeanMs: weighted(a.snapshot.slowMeanMs, b.snapshot.slowMeanMs),
      starting: eitherStart(a.snapshot.starting, b.snapshot.starting),
      samples,
    },
    dead: a.dead + b.dead,
    oldestWaitingMs: largest(a.oldestWaitingMs, b.oldestWaitingMs),
    lateMs: largest(a.lateMs, b.lateMs),
    acceptedLastMinute: a.acceptedLastMinute + b.acceptedLastMinute,
    finishedLastMinute: a.finishedLastMinute + b.finishedLastMinute,
    failedLastMinute: a.failedLastMinute + b.failedLastMinute,
    breaker: a.breaker ?? b.breaker,
    newcomerIndex: a.newcomerIndex + b.newcomerIndex,
  };
}

/** A keyed queue is in one partition; others may have tasks that were submitted before it was keyed. */
function startableOf(a: QueueSnapshot, b: QueueSnapshot): Pick<QueueSnapshot, "startable"> {
  if (a.startable === undefined && b.startable === undefined) return {};
  return { startable: (a.startable ?? a.waiting) + (b.startable ?? b.waiting) };
}

function largest(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.max(a, b);
}
