import { text } from "./reply.ts";
import { BATCH_LIMIT, type Script } from "./script.ts";

/** Short, so that the other partitions get the heartbeat in time while a cluster is changing. */
const PATIENCE_MS = 500;

/**
 * Reports that a worker is alive, with its slots for each queue; with `ttlMs` 0, that it leaves. Returns the time since a task of
 * these queues last lost its worker, ms; infinity if none has.
 * @param about what it tells of itself; "" to tell nothing in this partition
 * @param again whether it has said the same before, which costs less
 */
export const heartbeat =
  (script: Script) =>
  async (
    tag: string,
    worker: string,
    ttlMs: number,
    slots: ReadonlyMap<string, number>,
    about: string,
    again: boolean,
  ): Promise<number> => {
    let sinceLossMs = Number.POSITIVE_INFINITY;
    const all = [...slots];
    // In batches: one script over a thousand queues would block Redis.
    for (let i = 0; i < all.length; i += BATCH_LIMIT) {
      const some = all.slice(i, i + BATCH_LIMIT);
      const since = text(
        await script.text(tag, [worker, ttlMs, about, again ? 1 : 0, some.length, ...some.flat()], PATIENCE_MS),
      );
      if (since !== "") sinceLossMs = Math.min(sinceLossMs, Number(since));
    }
    return sinceLossMs;
  };
