import type { Index, Keys } from "../../store/keys.ts";
import type { Entry, Filter, Place, Scripts } from "../../store/scripts/scripts.ts";
import type { Homes } from "../partitions/homes.ts";

/** The most tasks of a page. */
const LONGEST = 200;
/** The most entries of each partition that are looked at for a page of those that are wanted. */
const MOST_LOOKED_AT = 500;

/** A request for a page. */
export interface PageRequest {
  readonly queue: string;
  /** The place behind which the page begins; null for the first page. */
  readonly after: Place | null;
  readonly limit: number;
  /** The highest score that is wanted. Default: any. */
  readonly lastScore?: number | undefined;
  /** Default: all. */
  readonly filter?: Filter | undefined;
}

/** Some of the tasks of a list. */
export interface Page {
  readonly entries: readonly Entry[];
  /** The place behind which the next page begins, also if this one is empty; null if there are no more. */
  readonly next: Place | null;
  /** How many entries were looked at. */
  readonly looked: number;
  /** The time of the store. */
  readonly nowMs: number;
}

/** The wanted tasks of an index after a given place, over all partitions, in order. The work is bounded, however few are wanted. */
export async function pageOf(
  scripts: Pick<Scripts, "page">,
  keys: Keys,
  homes: Homes,
  index: Index,
  request: PageRequest,
): Promise<Page> {
  const { queue, after, lastScore, filter } = request;
  const limit = Math.min(request.limit, LONGEST);
  const most = filter === undefined ? limit : MOST_LOOKED_AT;
  const asked = { index, queue, after, limit, most, lastScore, filter: filter ?? {} };
  const parts = await Promise.all(keys.tags.map((tag) => scripts.page(tag, asked)));
  for (const [partition, { entries }] of parts.entries()) for (const { id } of entries) homes.note(id, partition);
  // Behind the place up to which every partition was looked at there may be others that come first.
  const seenTo = parts
    .flatMap(({ more, last }) => (more && last ? [last] : []))
    .reduce<Place | null>((first, last) => (first === null || inOrder(last, first) < 0 ? last : first), null);
  const known = parts
    .flatMap(({ entries }) => entries)
    .filter((entry) => seenTo === null || inOrder(entry, seenTo) <= 0)
    .sort(inOrder);
  const entries = known.slice(0, limit);
  return {
    entries,
    next: known.length > limit ? (entries.at(-1) ?? null) : seenTo,
    looked: parts.reduce((sum, { looked }) => sum + looked, 0),
    nowMs: Math.min(...parts.map(({ nowMs }) => nowMs)),
  };
}

function inOrder(a: Place, b: Place): number {
  return Number(a.score) - Number(b.score) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}
