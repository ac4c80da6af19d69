/**
 * The version of the data that this release stores: keys, fields, and their content. Every change that a process of an earlier or later
 * release could misread raises `written`; then decide about both directions:
 *
 * - `oldestRead`: the oldest version whose data this release can read. Raise it when the code for older data is removed.
 * - `oldestBeside`: the oldest version whose processes can work on data of this release, beside it or after a rollback. Raise it to
 *   `written` if they would misread it: then an upgrade needs all processes to be stopped, which the changelog says.
 */
export const DATA_VERSION = { written: 1, oldestRead: 1, oldestBeside: 1 } as const;

/** What a store holds, or a release writes and reads. */
export interface DataVersions {
  readonly written: number;
  readonly oldestRead: number;
  readonly oldestBeside: number;
}

/** The version that is stored with the data. */
interface StoredVersion {
  readonly version: number;
  /** The oldest version whose processes can work on it. */
  readonly oldestBeside: number;
  /** The release that first wrote this version; empty before 0.2.0, which did not say. */
  readonly release: string;
}

/** Reads the value of the key. */
export function readStoredVersion(text: string): StoredVersion {
  const [version = "1", oldestBeside = version, release = ""] = text.split(" ");
  return { version: Number(version), oldestBeside: Number(oldestBeside), release };
}

/** Why a release cannot work on a store, and what to do; undefined if it can. */
export function dataVersionProblemOf(
  stored: StoredVersion,
  ours: DataVersions,
  { prefix, release }: { readonly prefix: string; readonly release: string },
): string | undefined {
  const by = stored.release === "" ? "" : `, written by Paihao ${stored.release}`;
  const data = `the store with KEY_PREFIX ${prefix} has data of version ${stored.version}${by}`;
  if (stored.version < ours.oldestRead) {
    return (
      `${data}, and Paihao ${release} reads versions ${ours.oldestRead} to ${ours.written}; ` +
      `upgrade in two steps, through a release that reads version ${stored.version}, or start with another KEY_PREFIX: see docs/operations.md`
    );
  }
  if (ours.written < stored.oldestBeside) {
    const newer = stored.release === "" ? "the release that wrote it" : `Paihao ${stored.release} or later`;
    return (
      `${data}, which Paihao ${release} cannot work with (it knows versions up to ${ours.written}); ` +
      `start ${newer} on it, or use another KEY_PREFIX for this release: see docs/operations.md`
    );
  }
  return undefined;
}
