import { number } from "./reply.ts";
import type { Script } from "./script.ts";

/** Adds to the histories of queues, unless another process has begun to in this interval; returns the ms until the interval ends. */
export const sample =
  (script: Script) =>
  async (tag: string, process: string, queues: readonly string[]): Promise<number> =>
    number(await script.text(tag, [process, ...queues]));
