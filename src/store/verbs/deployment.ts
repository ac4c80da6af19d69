import type { DataVersions } from "../data-version.ts";
import { names, verb, written } from "./codec.ts";
import { number, text } from "./reply.ts";

const VERSIONS = names<DataVersions & { readonly release: string }>("written", "oldestRead", "oldestBeside", "release");

/** Writes the number of partitions if there is none; returns the stored one. `tag` is that of partition 0. */
export const claim = verb(
  { args: ["partitions"] },
  (script) =>
    async (tag: string, partitions: number): Promise<number> =>
      number(await script.text(tag, [partitions])),
);

/** Writes the version of the data if this release may; returns what the store has then. `tag` is that of partition 0. */
export const version = verb(
  { args: VERSIONS },
  (script) =>
    async (tag: string, ours: DataVersions, release: string): Promise<string> =>
      text(await script.text(tag, written(VERSIONS, { ...ours, release }))),
);

/** Writes the deployment's secret if there is none; returns the stored one. `tag` is that of partition 0. */
export const secret = verb(
  { args: ["proposal"] },
  (script) =>
    async (tag: string, proposal: string): Promise<string> =>
      text(await script.text(tag, [proposal])),
);
