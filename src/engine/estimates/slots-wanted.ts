import type { QueueRow } from "../../store/line/queue.ts";
import { meanOfEnded } from "./service-figures.ts";

/** What the number of slots depends on. */
type QueueFacts = Pick<QueueRow, "acceptedLastMinute" | "finishedLastMinute"> & {
  readonly snapshot: Pick<
    QueueRow["snapshot"],
    "waiting" | "startable" | "running" | "paused" | "resting" | "workers" | "samples" | "timesMs" | "batch" | "rate"
  >;
};

/** Below this, a fraction of a slot is an error of floating-point arithmetic. */
const NEGLIGIBLE = 1e-9;

const MINUTE_MS = 60_000;
/** If average arrivals keep all slots busy, the line grows whenever more arrives. */
const HEADROOM = 1.1;

/**
 * How many slots would start a newcomer within `targetWaitMs`, and keep up with what arrives; at least 1, but 0 after a minute without
 * work. With c busy slots one becomes free every mean/c ms, and waiting + running − c + 1 must become free before the newcomer starts; this
 * is solved for c. Slots that take several tasks count as full. The present number of slots does not matter, so that the answer stays the
 * same while an autoscaler starts workers. While nothing waits, it is at least as many slots as arrivals keep busy now: a minute with few of
 * them at its beginning would tell of fewer. A rate cannot keep more slots busy than it starts tasks while one runs. Null if unknown: the queue
 * is paused, its gate lets nothing through, or it has work and a worker, but no history. Without a target: 1 while there is work that may
 * start or runs, else 0.
 */
export function slotsWanted(
  { snapshot, acceptedLastMinute, finishedLastMinute }: QueueFacts,
  targetWaitMs: number | undefined,
): number | null {
  const { waiting, startable = waiting, running, paused, resting, workers, batch, rate } = snapshot;
  const meanMs = meanOfEnded(snapshot);
  const startsNone = paused || resting;
  if (targetWaitMs === undefined) return running + (startsNone ? 0 : startable) > 0 ? 1 : 0;
  if (startsNone) return null;
  // Tasks that wait for their keys need no slots.
  const work = startable + running;
  if (work === 0 && acceptedLastMinute + finishedLastMinute === 0) return 0;
  if (meanMs === null) {
    // A free slot starts the first task at once, however long it takes; only a worker can tell more.
    return work === 0 || workers === 0 ? 1 : null;
  }
  const perSlot = batch?.max ?? 1;
  const forWork = work === 0 ? 1 : ((work / perSlot + 1) * meanMs) / (meanMs + targetWaitMs);
  const unheld = work === 0 ? 1 : work / (waiting + running);
  const forArrivals = (acceptedLastMinute / MINUTE_MS / perSlot) * meanMs * unheld * HEADROOM;
  const busyNow = startable === 0 ? Math.min(running, acceptedLastMinute) / perSlot : 0;
  const most = rate ? rate.max * (Math.floor(meanMs / rate.perMs) + 1) : Number.POSITIVE_INFINITY;
  const wanted = Math.max(Math.min(forWork, most), Math.min(forArrivals, most), busyNow);
  return Math.max(1, Math.ceil(wanted - NEGLIGIBLE));
}
