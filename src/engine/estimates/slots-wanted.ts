import type { QueueSnapshot } from "../../store/scripts/scripts.ts";

/** What the number of slots depends on. */
type QueueFacts = Pick<
  QueueSnapshot,
  "waiting" | "startable" | "running" | "paused" | "resting" | "meanMs" | "samples"
>;

/** Below this, a fraction of a slot is an error of floating-point arithmetic. */
const NEGLIGIBLE = 1e-9;

/**
 * How many slots would start a newcomer within `targetWaitMs`, at least 1. With c busy slots one becomes free every mean/c ms,
 * and waiting + running − c + 1 must become free before the newcomer starts; this is solved for c. The present number of slots
 * does not matter, so that the answer is the same while an autoscaler is still starting workers. Null if unknown: the queue is
 * paused or rests, or has work but no history.
 */
export function slotsWanted(snapshot: QueueFacts, targetWaitMs: number | undefined): number | null {
  if (targetWaitMs === undefined || snapshot.paused || snapshot.resting) return null;
  // What waits for its key needs no slot.
  const work = (snapshot.startable ?? snapshot.waiting) + snapshot.running;
  // A free slot starts it at once: this is known even before the first task.
  if (work === 0) return 1;
  const { meanMs } = snapshot;
  if (meanMs === null || snapshot.samples === 0) return null;
  const slots = ((work + 1) * meanMs) / (meanMs + targetWaitMs);
  return Math.max(1, Math.ceil(slots - NEGLIGIBLE));
}
