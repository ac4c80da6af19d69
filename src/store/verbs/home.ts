import { list, text } from "./reply.ts";
import type { Script } from "./script.ts";

/** Finds the partitions of tasks that are not in that of their id; null for each that is, or is unknown. */
export const home =
  (script: Script) =>
  async (tag: string, ids: readonly string[]): Promise<(number | null)[]> =>
    list(await script.text(tag, [...ids])).map((partition) =>
      text(partition) === "" ? null : Number(text(partition)),
    );
