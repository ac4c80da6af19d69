import { counted, named, names, verb, written } from "./codec.ts";
import { list, number, text } from "./reply.ts";
import type { SlotBatch } from "./snapshot.ts";

/** Short, so that the heartbeats of queues in other partitions are in time while a cluster is changing. */
const PATIENCE_MS = 500;

interface Heartbeat {
  readonly worker: string;
  readonly ttlMs: number;
  /** What it reports about itself; "" for nothing. */
  readonly about: string;
  /** Whether it has reported the same before, which costs less. */
  readonly again: boolean;
  /** Whether it takes no more work since it was told so. */
  readonly quiet: boolean;
}

/** The slots that a live worker gives a queue. */
interface WorkerSlots {
  readonly queue: string;
  readonly worker: string;
  readonly slots: number;
  /** Whether it is to take no more work of it. */
  readonly quiet: boolean;
}

/** What a worker hears in answer to its heartbeat. */
export interface HeartbeatAnswer {
  /** Whether it is to take no more work. */
  readonly quiet: boolean;
  /** The slots that each worker process gives a queue, where an operator has set them. */
  readonly concurrency: ReadonlyMap<string, number>;
}

/** What a live worker has reported about itself. */
interface WorkerAbout {
  readonly worker: string;
  /** "" if it has reported nothing. */
  readonly about: string;
  /** How long the report is valid, ms. */
  readonly leftMs: number;
}

const HEARTBEAT = names<Heartbeat>("worker", "ttlMs", "about", "again", "quiet");
const QUEUE = names<Pick<WorkerSlots, "queue" | "slots"> & { readonly batch: string }>("queue", "slots", "batch");
const HEARD = ["quiet", "set"] as const;
const ANSWER = ["nowMs", "slots", "abouts"] as const;
const SLOTS = names<WorkerSlots>("queue", "worker", "slots", "quiet");
const ABOUT = names<WorkerAbout>("worker", "about", "leftMs");

/**
 * Reports that a worker is alive, with its slots for each queue, and how many tasks a slot has if it is more than one; with `ttlMs` 0,
 * that it leaves.
 */
export const heartbeat = verb({
  layout: { args: HEARTBEAT, item: QUEUE, answer: HEARD },
  patienceMs: PATIENCE_MS,
  write: (beat: Heartbeat, slots: ReadonlyMap<string, number>, batches: ReadonlyMap<string, SlotBatch> = new Map()) => {
    const all = [...slots].map(([queue, some]) => {
      const batch = batches.get(queue);
      return { queue, slots: some, batch: batch ? `${batch.max} ${batch.waitMs}` : "" };
    });
    return [...written(HEARTBEAT, beat), ...counted(QUEUE, all)];
  },
  read: (reply): HeartbeatAnswer => {
    const { quiet, set } = named(HEARD, reply);
    return {
      quiet: number(quiet) === 1,
      concurrency: new Map(list(set).map((of) => [text(list(of)[0]), number(list(of)[1])])),
    };
  },
});

/** The live workers of queues: at most `most` of each, and of all. */
export const workers = verb({
  layout: { args: ["max"], item: ["queue"], answer: ANSWER, slots: SLOTS, about: ABOUT },
  write: (queues: readonly string[], max: number) => [max, queues.length, ...queues],
  read: (reply): { nowMs: number; slots: WorkerSlots[]; abouts: WorkerAbout[] } => {
    const { nowMs, slots, abouts } = named(ANSWER, reply);
    return {
      nowMs: number(nowMs),
      slots: list(slots).map((reply) => {
        const of = named(SLOTS, reply);
        return {
          queue: text(of.queue),
          worker: text(of.worker),
          slots: number(of.slots),
          quiet: number(of.quiet) === 1,
        };
      }),
      abouts: list(abouts).map((reply) => {
        const of = named(ABOUT, reply);
        return { worker: text(of.worker), about: text(of.about), leftMs: number(of.leftMs) };
      }),
    };
  },
});
