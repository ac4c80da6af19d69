import { text } from "./reply.ts";
import { BATCH_LIMIT, type Script } from "./script.ts";

/** While a cluster is changing: the other partitions are to hear of the worker in time. */
const PATIENCE_MS = 500;

/**
 * Says that a worker lives and how many slots it gives each queue; `ttlMs` 0 says goodbye. Returns ms since a task of these queues
 * last lost its worker, infinity where none has.
 */
export const heartbeat =
  (script: Script) =>
  async (tag: string, worker: string, ttlMs: number, slots: ReadonlyMap<string, number>): Promise<number> => {
    let sinceLossMs = Number.POSITIVE_INFINITY;
    const all = [...slots];
    // In batches: one script over a thousand queues would hold up everybody.
    for (let i = 0; i < all.length; i += BATCH_LIMIT) {
      const some = all.slice(i, i + BATCH_LIMIT);
      const since = text(await script.text(tag, [worker, ttlMs, some.length, ...some.flat()], PATIENCE_MS));
      if (since !== "") sinceLossMs = Math.min(sinceLossMs, Number(since));
    }
    return sinceLossMs;
  };
