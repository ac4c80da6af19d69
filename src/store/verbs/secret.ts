import { text } from "./reply.ts";
import type { Script } from "./script.ts";

/** Writes the deployment's secret if there is none; returns the stored one. `tag` is that of partition 0. */
export const secret =
  (script: Script) =>
  async (tag: string, proposal: string): Promise<string> =>
    text(await script.text(tag, [proposal]));
