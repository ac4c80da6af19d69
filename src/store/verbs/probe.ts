import { list, text } from "./reply.ts";
import type { Script } from "./script.ts";

/** A command that the store refuses to its user. */
export interface RefusedCommand {
  readonly command: string;
  /** What the store said. */
  readonly said: string;
}

/** Tries every command that scripts use; returns those that the user may not run. Writes, and removes what it has written. */
export const probe =
  (script: Script) =>
  async (tag: string, publish: "PUBLISH" | "SPUBLISH"): Promise<RefusedCommand[]> => {
    const words = list(await script.text(tag, [publish])).map(text);
    return Array.from({ length: words.length / 2 }, (_, n) => ({
      command: words[2 * n] ?? "",
      said: words[2 * n + 1] ?? "",
    }));
  };
