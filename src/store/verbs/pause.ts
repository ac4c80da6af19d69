import type { Script } from "./script.ts";

/** Pauses or resumes a queue. */
export const pause =
  (script: Script) =>
  async (tag: string, queue: string, paused: boolean): Promise<void> => {
    await script.text(tag, [queue, paused ? "1" : "0"]);
  };
