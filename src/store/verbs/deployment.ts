import { verb } from "./codec.ts";
import { number, text } from "./reply.ts";

/** Writes the number of partitions if there is none; returns the stored one. `tag` is that of partition 0. */
export const claim = verb(
  { args: ["partitions"] },
  (script) =>
    async (tag: string, partitions: number): Promise<number> =>
      number(await script.text(tag, [partitions])),
);

/** Writes the version of the data unless the store has a later one; returns what it has then. `tag` is that of partition 0. */
export const version = verb(
  { args: ["version"] },
  (script) =>
    async (tag: string, ours: number): Promise<number> =>
      number(await script.text(tag, [ours])),
);

/** Writes the deployment's secret if there is none; returns the stored one. `tag` is that of partition 0. */
export const secret = verb(
  { args: ["proposal"] },
  (script) =>
    async (tag: string, proposal: string): Promise<string> =>
      text(await script.text(tag, [proposal])),
);

/** Notes the library that a start uses; returns the latest ones, newest first. `tag` is that of partition 0. */
export const libraries = verb(
  { args: ["name"] },
  (script) =>
    async (tag: string, name: string): Promise<string[]> =>
      text(await script.text(tag, [name])).split(" "),
);
