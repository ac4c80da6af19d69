import { counted, named, names, verb } from "./codec.ts";
import { list, number, optional, text } from "./reply.ts";
import type { TickQueue } from "./tick.ts";

/** The queue of a handler. */
export interface OwnQueue extends TickQueue {
  readonly leaseMs: number;
  /** How long a worker takes to start, ms, and its slots, with a space between; "" if its handler does not say. */
  readonly warmup: string;
  /** How many of its tasks may start in how many ms, with a space between; "" for any number. */
  readonly rate: string;
}

/** The facts that any process needs to maintain a queue. */
export interface RegisteredQueue extends Omit<TickQueue, "problem"> {
  /** Null if no process has registered it. */
  readonly leaseMs: number | null;
  /** How long ago a process with a handler for it last registered it, ms. */
  readonly silentMs: number;
}

const QUEUE = ["queue", "maxLost", "keepMs", "tombstoneMs", "deadMs", "leaseMs"] as const;
const OWN = names<Omit<OwnQueue, "problem">>(...QUEUE, "warmup", "rate");
const REGISTERED = names<RegisteredQueue>(...QUEUE, "silentMs");

/**
 * Registers queues, at most BATCH_LIMIT; returns all that are registered. Queues without a handler and tasks are removed after
 * `deleteAfterMs`; if it is null, none are removed or returned.
 */
export const register = verb({
  layout: { args: ["deleteAfterMs"], item: OWN, registered: REGISTERED },
  write: (queues: readonly Omit<OwnQueue, "problem">[], deleteAfterMs: number | null) => [
    deleteAfterMs ?? "",
    ...counted(OWN, queues),
  ],
  read: (replies): RegisteredQueue[] =>
    list(replies).map((reply) => {
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
});
