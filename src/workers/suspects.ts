import type { QueueSettings } from "../engine/settings.ts";
import type { ReservedTask } from "../store/verbs/scripts.ts";

/** Maximum lease of a suspect whose handler has not begun, ms: short, so that another worker gets it soon if this one dies. */
const WAITING_LEASE_MS = 1500;

/** The lease of a suspect (a task that has lost a worker) until its handler begins, ms. */
export function suspectLeaseMs({ leaseMs }: QueueSettings): number {
  return Math.min(leaseMs, WAITING_LEASE_MS);
}

/** A suspect may run beside other tasks only if it can survive this many more losses. */
const SPARE_LOSSES = 2;

/**
 * Whether a suspect may run beside other tasks if no child process is free. Most suspects only shared a process with the task
 * that killed it, and many are lost at once, so they should not wait for processes to start. A suspect that does kill its process
 * takes others with it at most twice: after its second loss it never runs beside others.
 */
export function mayRunBesideOthers({ lost }: ReservedTask, { maxLost }: QueueSettings): boolean {
  return lost === 1 && maxLost - lost >= SPARE_LOSSES;
}

/**
 * Whether a suspect may run in its worker beside other suspects alone if no child process is free: a worker has died while it waited for
 * one, so workers may live for less time than a child process takes to start, and it would wait forever.
 */
export function mayRunAmongSuspects({ uncountedLosses }: ReservedTask): boolean {
  return uncountedLosses > 0;
}
