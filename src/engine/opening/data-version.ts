import { StartError } from "../../errors.ts";
import type { Connection } from "../../store/connection.ts";
import { DATA_VERSION, type DataVersions, dataVersionProblemOf, readStoredVersion } from "../../store/data-version.ts";
import type { Keys } from "../../store/keys.ts";
import type { Scripts } from "../../store/verbs/scripts.ts";
import { packageVersion } from "../../version.ts";

/**
 * Writes the version of the data to the store at the first start, and raises it at the first start of a release that writes a later one.
 * @throws StartError if this release cannot work with what the store holds; then nothing is changed
 */
export async function claimDataVersion(
  scripts: Scripts,
  keys: Keys,
  ours: DataVersions = DATA_VERSION,
  release = packageVersion(),
): Promise<void> {
  const stored = readStoredVersion(await scripts.version(keys.tag(0), ours, release));
  const problem = dataVersionProblemOf(stored, ours, { prefix: keys.prefix, release });
  if (problem !== undefined) throw new StartError(problem);
}

/**
 * Why this release cannot work with what the store holds now, since a later one may have taken it over; undefined if it can. Writes
 * nothing.
 */
export async function dataVersionProblem(redis: Connection, keys: Keys): Promise<string | undefined> {
  const stored = await redis.get(keys.dataVersion);
  if (stored === null) return undefined;
  return dataVersionProblemOf(readStoredVersion(stored), DATA_VERSION, {
    prefix: keys.prefix,
    release: packageVersion(),
  });
}
