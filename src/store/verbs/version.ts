import type { DataVersions } from "../data-version.ts";
import { text } from "./reply.ts";
import type { Script } from "./script.ts";

/** Writes the version of the data if this release may; returns what the store has then. `tag` is that of partition 0. */
export const version =
  (script: Script) =>
  async (tag: string, ours: DataVersions, release: string): Promise<string> =>
    text(await script.text(tag, [ours.written, ours.oldestRead, ours.oldestBeside, release]));
