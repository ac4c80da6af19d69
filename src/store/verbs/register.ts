import { list, number, optional, text } from "./reply.ts";
import type { Script } from "./script.ts";
import type { TickQueue } from "./tick.ts";

/** The queue of a handler. */
export interface OwnQueue extends TickQueue {
  readonly leaseMs: number;
}

/** What any process needs to maintain a queue. */
export interface RegisteredQueue extends Omit<TickQueue, "problem"> {
  /** Null where nobody has said. */
  readonly leaseMs: number | null;
  /** How long ago a process with a handler for it last registered it, ms. */
  readonly silentMs: number;
}

/**
 * Registers queues, at most BATCH_LIMIT; returns all that are registered. Queues without a handler and tasks are removed after
 * `forgetMs`; if it is null, none are removed or returned.
 */
export const register =
  (script: Script) =>
  async (
    tag: string,
    queues: readonly Omit<OwnQueue, "problem">[],
    forgetMs: number | null,
  ): Promise<RegisteredQueue[]> => {
    const args = queues.flatMap((q) => [q.queue, q.maxLost, q.keepMs, q.tombstoneMs, q.deadMs, q.leaseMs]);
    const facts = list(await script.text(tag, [forgetMs ?? "", queues.length, ...args]));
    return Array.from({ length: facts.length / 7 }, (_, n) => {
      const [queue, maxLost, keepMs, tombstoneMs, deadMs, leaseMs, silentMs] = facts.slice(n * 7);
      return {
        queue: text(queue),
        maxLost: number(maxLost),
        keepMs: number(keepMs),
        tombstoneMs: number(tombstoneMs),
        deadMs: number(deadMs),
        leaseMs: optional(leaseMs),
        silentMs: number(silentMs),
      };
    });
  };
