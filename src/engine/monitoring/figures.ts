import type { Keys } from "../../store/keys.ts";
import { BATCH_LIMIT } from "../../store/library/script.ts";
import type { Scripts } from "../../store/library/scripts.ts";
import type { QueueRow } from "../../store/line/queue.ts";
import { queueBatches } from "../calls/queue-batches.ts";

/** The figures of queues, in the given order. */
export async function figuresOf(
  scripts: Pick<Scripts, "queue">,
  keys: Keys,
  queues: readonly string[],
): Promise<QueueRow[]> {
  const batches = queueBatches(keys, queues, BATCH_LIMIT);
  const rows = (await Promise.all(batches.map(({ tag, queues: some }) => scripts.queue(tag, some)))).flat();
  if (batches.length <= 1) return rows;
  const byQueue = new Map(rows.map((row) => [row.snapshot.queue, row]));
  return queues.flatMap((queue) => byQueue.get(queue) ?? []);
}

/** Whether a queue has any task that has not ended for good. */
export function holdsTasks({ snapshot, dead }: QueueRow): boolean {
  return snapshot.waiting + snapshot.scheduled + snapshot.running + dead > 0;
}
