import type { Keys } from "../../store/keys.ts";

/** Some queues of one partition. */
interface QueueBatch {
  readonly tag: string;
  readonly queues: string[];
}

/** Queues by their partitions, at most so many at a time: one script over a thousand queues would block Redis. */
export function queueBatches(keys: Keys, queues: Iterable<string>, max: number): readonly QueueBatch[] {
  const batches: QueueBatch[] = [];
  /** The last batch of each partition. */
  const last = new Map<string, QueueBatch>();
  for (const queue of queues) {
    const tag = keys.tagOfQueue(queue);
    let batch = last.get(tag);
    if (batch === undefined || batch.queues.length === max) {
      batch = { tag, queues: [] };
      last.set(tag, batch);
      batches.push(batch);
    }
    batch.queues.push(queue);
  }
  return batches;
}
