import { text } from "./reply.ts";
import type { Script } from "./script.ts";

/** What was kept with an id; null when it was not allocated, or its time is over. */
export const allocation =
  (script: Script) =>
  async (tag: string, id: string): Promise<string | null> =>
    text(await script.text(tag, [id])) || null;
