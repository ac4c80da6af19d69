import { number } from "./reply.ts";
import type { Script } from "./script.ts";

/** Adds to the history of queues; returns the ms until the present interval ends. Of several processes the first in an interval does. */
export const sample =
  (script: Script) =>
  async (tag: string, process: string, queues: readonly string[]): Promise<number> =>
    number(await script.text(tag, [process, ...queues]));
