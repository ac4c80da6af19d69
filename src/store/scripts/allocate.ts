import { list, number, text } from "./reply.ts";
import type { Script } from "./script.ts";

/** An id to be kept for a task that is to come. */
interface Allocation {
  readonly id: string;
  /** What to remember with it. */
  readonly value: string;
  readonly ttlMs: number;
  readonly queue: string;
  /** Most tasks waiting and scheduled and ids handed out, together, of the partition. */
  readonly limit: number;
}

/** What became of it: see allocate.lua. */
interface Allocated {
  readonly verdict: "kept" | "taken" | "full";
  /** Of the queue in this partition, where it is full; else 0. */
  readonly waiting: number;
  readonly scheduled: number;
}

/** Keeps an id for a task that is to come; "taken" when it is one already. */
export const allocate =
  (script: Script) =>
  async (tag: string, { id, value, ttlMs, queue, limit }: Allocation): Promise<Allocated> => {
    const [verdict, waiting, scheduled] = list(await script.text(tag, [id, value, ttlMs, queue, limit]));
    return { verdict: text(verdict) as Allocated["verdict"], waiting: number(waiting), scheduled: number(scheduled) };
  };
