import { list, number, text } from "./reply.ts";
import type { Script } from "./script.ts";

/** An id to reserve for a later task. */
interface Allocation {
  readonly id: string;
  /** What to store with it. */
  readonly value: string;
  readonly ttlMs: number;
  readonly queue: string;
  /** Maximum of waiting and scheduled tasks and allocated ids together, in the partition. */
  readonly limit: number;
}

/** The verdict, see allocate.lua. */
interface Allocated {
  readonly verdict: "kept" | "taken" | "full";
  /** The counts of the queue in this partition if it is full; else 0. */
  readonly waiting: number;
  readonly scheduled: number;
}

/** Reserves an id for a later task; "taken" if it is in use. */
export const allocate =
  (script: Script) =>
  async (tag: string, { id, value, ttlMs, queue, limit }: Allocation): Promise<Allocated> => {
    const [verdict, waiting, scheduled] = list(await script.text(tag, [id, value, ttlMs, queue, limit]));
    return { verdict: text(verdict) as Allocated["verdict"], waiting: number(waiting), scheduled: number(scheduled) };
  };
