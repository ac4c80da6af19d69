import { SHARED } from "../../store/constants.ts";
import type { Keys } from "../../store/keys.ts";
import type { Entry, Scripts } from "../../store/verbs/scripts.ts";
import type { Homes } from "../partitions/homes.ts";
import type { Page, PageRequest } from "./page.ts";

/**
 * The tasks of a queue that finished last, the newest first, over all partitions. Of tasks that ended in the same millisecond, those of
 * lower partitions come first.
 */
export async function finishedOf(
  { scripts, keys, homes }: { readonly scripts: Scripts; readonly keys: Keys; readonly homes: Homes },
  { queue, after, limit, filter = {} }: PageRequest,
): Promise<Page> {
  const home = after === null ? -1 : keys.partitions === 1 ? 0 : await homes.find(after.id);
  const pages = await Promise.all(
    keys.tags.map((tag, partition) => scripts.finished(tag, { queue, after, same: partition > home, limit, filter })),
  );
  // Each partition keeps as many as the queue shows.
  const left = SHARED.maxFinished - pages.reduce((sum, { before }) => sum + before, 0);
  for (const [partition, { entries }] of pages.entries()) for (const { id } of entries) homes.note(id, partition);
  const merged = merge(pages.map(({ entries }) => entries));
  const entries = merged.slice(0, Math.max(0, Math.min(limit, left)));
  return {
    entries,
    next: entries.length === limit ? (entries.at(-1) ?? null) : null,
    looked: pages.reduce((sum, { looked }) => sum + looked, 0),
    nowMs: Math.min(...pages.map(({ nowMs }) => nowMs)),
  };
}

/** Merges lists that each have the newest first. */
function merge(lists: readonly (readonly Entry[])[]): Entry[] {
  const next = lists.map(() => 0);
  const merged: Entry[] = [];
  for (;;) {
    let newest = -1;
    let time = -1;
    for (const [n, entries] of lists.entries()) {
      const score = Number(entries[next[n] ?? 0]?.score ?? -1);
      if (score > time) [newest, time] = [n, score];
    }
    const entry = lists[newest]?.[next[newest] ?? 0];
    if (!entry) return merged;
    merged.push(entry);
    next[newest] = (next[newest] ?? 0) + 1;
  }
}
