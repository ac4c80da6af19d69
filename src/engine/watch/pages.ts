import type { Index, Keys } from "../../store/keys.ts";
import type { Scripts } from "../../store/library/scripts.ts";
import type { Entry, Filter, Place } from "../../store/line/page.ts";

/** Maximum number of tasks on a page. */
const LONGEST = 200;
/** Maximum number of entries that are read in one call for a filtered page; fewer if their errors are read: about 2 ms of the store each. */
const MAX_LOOKED_AT = 100;
const MAX_ERRORS = 50;

/** How many entries are read in one call. */
export const looksOf = (filter: Filter): number =>
  filter.error === undefined && !filter.withErrors ? MAX_LOOKED_AT : MAX_ERRORS;

/** A request for a page. */
export interface PageRequest {
  readonly queue: string;
  /** The place after which the page begins; null for the first page. */
  readonly after: Place | null;
  readonly limit: number;
  /** The highest score that is wanted. Default: any. */
  readonly lastScore?: number | undefined;
  /** In reverse. Default: no. */
  readonly isNewestFirst?: boolean | undefined;
  /** Default: all. */
  readonly filter?: Filter | undefined;
}

/** Some of the tasks of a list. */
export interface Page {
  readonly entries: readonly Entry[];
  /** The place after which the next page begins, even if this one is empty; null if there are no more. */
  readonly next: Place | null;
  /** How many entries were read. */
  readonly looked: number;
  /** The time of the store. */
  readonly nowMs: number;
}

/** The matching tasks of an index after a given place, in order. The work is bounded, however few match. */
export async function pageOf(
  scripts: Pick<Scripts, "page">,
  keys: Keys,
  index: Index,
  { queue, after, lastScore, isNewestFirst, filter, ...request }: PageRequest,
): Promise<Page> {
  const limit = Math.min(request.limit, LONGEST);
  const max = filter === undefined ? limit : looksOf(filter);
  const asked = { index, queue, after, limit, max, lastScore, isNewestFirst, filter: filter ?? {} };
  const { entries, more, last, looked, nowMs } = await scripts.page(keys.tagOfQueue(queue), asked);
  return { entries, next: more ? last : null, looked, nowMs };
}

/** The tasks of a queue that finished last, the newest first. */
export async function finishedOf(
  scripts: Pick<Scripts, "finished">,
  keys: Keys,
  { queue, after, limit, filter }: PageRequest,
): Promise<Page> {
  const max = filter === undefined ? LONGEST : looksOf(filter);
  const asked = { queue, after, limit, max, filter: filter ?? {} };
  const { entries, more, last, looked, nowMs } = await scripts.finished(keys.tagOfQueue(queue), asked);
  return { entries, next: more ? last : null, looked, nowMs };
}
