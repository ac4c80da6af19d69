import { number } from "./reply.ts";
import type { Script } from "./script.ts";

/** Short, since a worker can use other partitions while a cluster is changing. */
const PATIENCE_MS = 300;

/** How many tasks of a queue may start now, but for its rate. */
export const startable =
  (script: Script) =>
  async (tag: string, queue: string): Promise<number> =>
    number(await script.text(tag, [queue], PATIENCE_MS));
