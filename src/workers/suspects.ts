import type { QueueSettings } from "../engine/settings.ts";
import type { Reserved } from "../store/scripts/scripts.ts";

/** Longest lease of a suspect whose handler has not begun, ms: should its worker die meanwhile, others have it so much the sooner. */
const WAITING_LEASE_MS = 1500;

/** How long a worker has a suspect, a task that has lost a worker before, until its handler begins, ms. */
export function suspectLeaseMs({ leaseMs }: QueueSettings): number {
  return Math.min(leaseMs, WAITING_LEASE_MS);
}

/** A suspect runs beside others only when it survives so many more losses: one there, and one or more of its own. */
const SPARE_LOSSES = 2;

/**
 * Whether a suspect may run beside other tasks when no child process is free for it. Most suspects only shared a process with
 * whatever ended it, and many are lost at once: they are not to wait for processes to start. One that does end its process takes
 * others with it twice at most: from its second loss on it is run in child processes only.
 */
export function mayRunBesideOthers({ lost }: Reserved, { maxLost }: QueueSettings): boolean {
  return lost === 1 && maxLost - lost >= SPARE_LOSSES;
}
