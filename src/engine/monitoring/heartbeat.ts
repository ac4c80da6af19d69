import type { Keys } from "../../store/keys.ts";
import type { Scripts } from "../../store/verbs/scripts.ts";
import type { AboutWorker } from "./workers.ts";

/** What a worker reports. */
interface Heartbeat {
  readonly worker: string;
  /** How long it is valid, ms; 0 removes the worker. */
  readonly ttlMs: number;
  readonly slots: ReadonlyMap<string, number>;
  readonly about: AboutWorker | undefined;
  /** Whether every partition has been told the same before. */
  readonly again: boolean;
}

/**
 * Reports a worker to every partition, since estimates and lost workers are known in each; what it tells of itself only to the first.
 * Returns the ms since a task of its queues last lost its worker, or infinity.
 */
export async function heartbeatOf(
  scripts: Pick<Scripts, "heartbeat">,
  keys: Keys,
  { worker, ttlMs, slots, about, again }: Heartbeat,
): Promise<number> {
  const told = about === undefined ? "" : JSON.stringify(about);
  const sinceLossMs = await Promise.all(
    keys.tags.map((tag, partition) => scripts.heartbeat(tag, worker, ttlMs, slots, partition === 0 ? told : "", again)),
  );
  return Math.min(...sinceLossMs);
}
