import { text } from "./reply.ts";
import type { Script } from "./script.ts";

/** What was stored with an id; null if it was not allocated or has expired. */
export const allocation =
  (script: Script) =>
  async (tag: string, id: string): Promise<string | null> =>
    text(await script.text(tag, [id])) || null;
