import { SHARED } from "../store/constants.ts";
import type { Keys } from "../store/keys.ts";
import type { Place, Scripts } from "../store/scripts/scripts.ts";
import type { Homes } from "./homes.ts";

/** A request for a page of finished tasks. */
interface FinishedRequest {
  readonly queue: string;
  /** The last place of the page before; its score is when the task ended, ms. */
  readonly after: Place | null;
  readonly limit: number;
}

/**
 * The tasks of a queue that finished last, the newest first, over all partitions. Of those that ended in the same millisecond, the
 * ones of lower partitions come first.
 */
export async function finishedOf(
  scripts: Scripts,
  keys: Keys,
  homes: Homes,
  { queue, after, limit }: FinishedRequest,
): Promise<Place[]> {
  const home = after === null ? -1 : keys.partitions === 1 ? 0 : await homes.find(after.id);
  const pages = await Promise.all(
    keys.tags.map((tag, partition) => {
      const side = partition === home ? "own" : partition < home ? "before" : "after";
      return scripts.finished(tag, { queue, after, side, limit });
    }),
  );
  // Each partition keeps as many as the queue shows.
  const left = SHARED.mostFinished - pages.reduce((sum, { before }) => sum + before, 0);
  for (const [partition, { places }] of pages.entries()) for (const { id } of places) homes.note(id, partition);
  const merged = merge(pages.map(({ places }) => places));
  return merged.slice(0, Math.max(0, Math.min(limit, left)));
}

/** Merges lists of which each has its newest first. */
function merge(lists: readonly (readonly Place[])[]): Place[] {
  const next = lists.map(() => 0);
  const merged: Place[] = [];
  for (;;) {
    let newest = -1;
    let time = -1;
    for (const [n, places] of lists.entries()) {
      const score = Number(places[next[n] ?? 0]?.score ?? -1);
      if (score > time) [newest, time] = [n, score];
    }
    const place = lists[newest]?.[next[newest] ?? 0];
    if (!place) return merged;
    merged.push(place);
    next[newest] = (next[newest] ?? 0) + 1;
  }
}
