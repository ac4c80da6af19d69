import type { Keys } from "../store/keys.ts";
import type { PagedIndex, Place, Scripts } from "../store/scripts/scripts.ts";
import type { Homes } from "./homes.ts";

/** A request for a page. */
interface PageRequest {
  readonly index: PagedIndex;
  readonly queue: string;
  readonly after: Place | null;
  readonly limit: number;
}

/** The tasks of an index after a given place, over all partitions, in order. */
export async function pageOf(scripts: Scripts, keys: Keys, homes: Homes, request: PageRequest): Promise<Place[]> {
  const pages = await Promise.all(keys.tags.map((tag) => scripts.page(tag, request)));
  for (const [partition, places] of pages.entries()) for (const { id } of places) homes.note(id, partition);
  const order = (a: Place, b: Place) => Number(a.score) - Number(b.score) || (a.id < b.id ? -1 : 1);
  return pages.flat().sort(order).slice(0, request.limit);
}
