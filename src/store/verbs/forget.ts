import type { Call } from "./answers.ts";
import { number } from "./reply.ts";
import { BATCH_LIMIT, type Script } from "./script.ts";

/** Deletes dead tasks, the oldest first; returns how many. */
export const forget =
  (script: Script) =>
  async (tag: string, { queue, limit, call }: { queue: string; limit: number } & Call): Promise<number> =>
    number(await script.text(tag, [queue, Math.min(limit, BATCH_LIMIT), call]));
