/** The prefix of the server's own queues. */
export const RESERVED_PREFIX = "paihao.";

/**
 * The server's own queues; the Lua files put tasks into them, in the partition of the tasks from which they follow. Every queue lives in one
 * partition, so there is one of each in every partition: with this name in partition 0, and with ".<partition>" after it in the others.
 */
export const INTERNAL_QUEUES = { webhooks: "paihao.webhooks", undo: "paihao.undo" } as const;

/** Whether a queue is one of the server's own. */
export function isInternalQueue(queue: string): boolean {
  return queue.startsWith(RESERVED_PREFIX);
}

/** The name that a queue of the server's own has in partition 0; of any other queue, its name. */
export function ownQueueOf(queue: string): string {
  return isInternalQueue(queue) ? queue.replace(PARTITION, "") : queue;
}

const PARTITION = /\.(\d{1,4})$/;

/** The partition that the name of one of the server's own queues means. */
export function partitionOfInternal(queue: string): number {
  return Number(PARTITION.exec(queue)?.[1] ?? 0);
}

/** A handler of the server's own for the queue in each partition. */
export function inEachPartition<H extends { readonly queue: string }>(handler: H, partitions: number): H[] {
  return Array.from({ length: partitions }, (_, partition) =>
    partition === 0 ? handler : { ...handler, queue: `${handler.queue}.${partition}` },
  );
}
