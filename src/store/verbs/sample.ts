import { list, number } from "./reply.ts";
import type { Script } from "./script.ts";

/**
 * Adds to the histories of queues, unless another process has begun to in this interval; returns the ms until the interval ends, and
 * whether nothing is in any of the queues: then the next call is told so.
 */
export const sample =
  (script: Script) =>
  async (
    tag: string,
    process: string,
    queues: readonly string[],
    empty: boolean,
  ): Promise<{ readonly endsMs: number; readonly empty: boolean }> => {
    const [ends, nothing] = list(await script.text(tag, [process, empty ? 1 : 0, ...queues]));
    return { endsMs: number(ends), empty: number(nothing) === 1 };
  };
