import { counted, type Names, named, names, verb } from "./codec.ts";
import { list, number, optional, text } from "./reply.ts";
import type { TickQueue } from "./tick.ts";

/** The queue of a handler. */
export interface OwnQueue extends TickQueue {
  readonly leaseMs: number;
}

/** The facts that any process needs to maintain a queue. */
export interface RegisteredQueue extends Omit<TickQueue, "problem"> {
  /** Null if no process has registered it. */
  readonly leaseMs: number | null;
  /** How long ago a process with a handler for it last registered it, ms. */
  readonly silentMs: number;
}

const OWN = names<Omit<OwnQueue, "problem">>("queue", "maxLost", "keepMs", "tombstoneMs", "deadMs", "leaseMs");
const REGISTERED = names<RegisteredQueue>(...(OWN as Names<RegisteredQueue>), "silentMs");

/**
 * Registers queues, at most BATCH_LIMIT; returns all that are registered. Queues without a handler and tasks are removed after
 * `deleteAfterMs`; if it is null, none are removed or returned.
 */
export const register = verb(
  { args: ["deleteAfterMs"], item: OWN, registered: REGISTERED },
  (script) =>
    async (
      tag: string,
      queues: readonly Omit<OwnQueue, "problem">[],
      deleteAfterMs: number | null,
    ): Promise<RegisteredQueue[]> =>
      list(await script.text(tag, [deleteAfterMs ?? "", ...counted(OWN, queues)])).map((reply) => {
        const of = named(REGISTERED, reply);
        return {
          queue: text(of.queue),
          maxLost: number(of.maxLost),
          keepMs: number(of.keepMs),
          tombstoneMs: number(of.tombstoneMs),
          deadMs: number(of.deadMs),
          leaseMs: optional(of.leaseMs),
          silentMs: number(of.silentMs),
        };
      }),
);
