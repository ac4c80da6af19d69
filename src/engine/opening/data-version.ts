import { StartError } from "../../errors.ts";
import type { Connection } from "../../store/connection.ts";
import type { Keys } from "../../store/keys.ts";
import type { Scripts } from "../../store/verbs/scripts.ts";

/**
 * The version of the data that this release stores: keys, fields, and their content. Raised by every change that an earlier release would
 * misread; that release then refuses the data.
 */
export const DATA_VERSION = 1;

/**
 * Writes the version to the store, unless that has a later one.
 * @throws StartError if it has; then nothing is changed
 */
export async function claimDataVersion(scripts: Scripts, keys: Keys, ours = DATA_VERSION): Promise<void> {
  const problem = problemOf(await scripts.version(keys.tag(0), { version: ours }), keys, ours);
  if (problem !== undefined) throw new StartError(problem);
}

/**
 * Why this release cannot work with what the store holds now, since a later one may have taken it over; undefined if it can. Writes
 * nothing.
 */
export async function dataVersionProblem(redis: Connection, keys: Keys): Promise<string | undefined> {
  return problemOf(Number((await redis.get(keys.dataVersion)) ?? 0), keys, DATA_VERSION);
}

function problemOf(stored: number, { prefix }: Keys, ours: number): string | undefined {
  if (stored <= ours) return undefined;
  return (
    `the store with KEY_PREFIX ${prefix} has data of version ${stored}, and this release knows versions up to ${ours}; ` +
    "start the release that wrote it, or use another KEY_PREFIX"
  );
}
