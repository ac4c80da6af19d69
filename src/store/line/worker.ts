import { jsonVerb } from "../library/verb.ts";
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
  readonly slots: ReadonlyMap<string, number>;
  /** How many tasks a slot has, where it is more than one. */
  readonly batches?: ReadonlyMap<string, SlotBatch> | undefined;
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

/** The queues of which workers are read; at most so many of each, and of all. */
interface WorkersRequest {
  readonly queues: readonly string[];
  readonly max: number;
}

/** Reports that a worker is alive, with its slots for each queue; with `ttlMs` 0, that it leaves. */
export const heartbeat = jsonVerb<Heartbeat, HeartbeatAnswer>({
  patienceMs: PATIENCE_MS,
  sent: ({ slots, batches = new Map(), ...beat }) => ({
    ...beat,
    slots: [...slots].map(([queue, some]) => {
      const batch = batches.get(queue);
      return { queue, slots: some, batch: batch && `${batch.max} ${batch.waitMs}` };
    }),
  }),
  read: ({ quiet, set }: { readonly quiet: boolean; readonly set: readonly (readonly [string, number])[] }) => ({
    quiet,
    concurrency: new Map(set),
  }),
});

/** The live workers of queues. */
export const workers = jsonVerb<
  WorkersRequest,
  { readonly nowMs: number; readonly slots: readonly WorkerSlots[]; readonly abouts: readonly WorkerAbout[] }
>();
