import { list, number } from "./reply.ts";
import type { Script } from "./script.ts";

/** For how long tasks are still there, ms: infinity as long as one has not ended, 0 if there is none. */
export const lifetimes =
  (script: Script) =>
  async (tag: string, ids: readonly string[]): Promise<number[]> =>
    list(await script.text(tag, [...ids])).map((left) => {
      const ms = number(left);
      return ms === -1 ? Number.POSITIVE_INFINITY : Math.max(0, ms);
    });
