import { number } from "./reply.ts";
import type { Script } from "./script.ts";

/** Writes the number of partitions if there is none; returns the stored one. `tag` is that of partition 0. */
export const claim =
  (script: Script) =>
  async (tag: string, partitions: number): Promise<number> =>
    number(await script.text(tag, [partitions]));
