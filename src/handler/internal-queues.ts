/** The prefix of the server's own queues. */
export const RESERVED_PREFIX = "paihao.";
/** The server's own queues; the Lua files put tasks into them by these names. */
export const INTERNAL_QUEUES = { webhooks: "paihao.webhooks", undo: "paihao.undo" } as const;

/** Whether a queue is one of the server's own. */
export function isInternalQueue(queue: string): boolean {
  return queue.startsWith(RESERVED_PREFIX);
}
