import { verbOnOne } from "./codec.ts";
import { number, text } from "./reply.ts";

/** Writes the number of partitions if there is none; returns the stored one. `tag` is that of partition 0. */
export const claim = verbOnOne<{ readonly partitions: number }, number>(["partitions"], number);

/** Writes the version of the data unless the store has a later one; returns what it has then. `tag` is that of partition 0. */
export const version = verbOnOne<{ readonly version: number }, number>(["version"], number);

/** Writes the deployment's secret if there is none; returns the stored one. `tag` is that of partition 0. */
export const secret = verbOnOne<{ readonly proposal: string }, string>(["proposal"]);

/** Notes the library that a start uses; returns the latest ones, newest first. `tag` is that of partition 0. */
export const libraries = verbOnOne<{ readonly name: string }, readonly string[]>(["name"], (reply) =>
  text(reply).split(" "),
);
