import type { Index, Keys } from "../../store/keys.ts";
import type { Entry, Filter, OrderedPlace, Place, Scripts } from "../../store/verbs/scripts.ts";
import type { Homes } from "../partitions/homes.ts";

/** Maximum number of tasks on a page. */
const LONGEST = 200;
/** Maximum number of entries of each partition that are read for a filtered page. */
const MAX_LOOKED_AT = 500;

/** Where a page ends. */
export interface PageEnd extends Place {
  /**
   * For a fair line over several partitions: where the page ends in each, since each has an order of its own; null before its first entry.
   */
  readonly parts?: readonly (Place | null)[];
}

/** A request for a page. */
export interface PageRequest {
  readonly queue: string;
  /** The place after which the page begins; null for the first page. */
  readonly after: PageEnd | null;
  readonly limit: number;
  /** The highest score that is wanted. Default: any. */
  readonly lastScore?: number | undefined;
  /** In reverse; not of a fair line. Default: no. */
  readonly isNewestFirst?: boolean | undefined;
  /** Default: all. */
  readonly filter?: Filter | undefined;
}

/** Some of the tasks of a list. */
export interface Page {
  readonly entries: readonly Entry[];
  /** The place after which the next page begins, even if this one is empty; null if there are no more. */
  readonly next: PageEnd | null;
  /** How many entries were read. */
  readonly looked: number;
  /** The time of the store. */
  readonly nowMs: number;
}

/** A place in one of several partitions. */
interface PartPlace extends OrderedPlace {
  readonly partition: number;
}

/** The matching tasks of an index after a given place, over all partitions, in order. The work is bounded, however few match. */
export async function pageOf(
  { scripts, keys, homes }: { readonly scripts: Pick<Scripts, "page">; readonly keys: Keys; readonly homes: Homes },
  index: Index,
  request: PageRequest,
): Promise<Page> {
  const { queue, after, lastScore, isNewestFirst, filter } = request;
  const limit = Math.min(request.limit, LONGEST);
  const max = filter === undefined ? limit : MAX_LOOKED_AT;
  const asked = { index, queue, limit, max, lastScore, isNewestFirst, filter: filter ?? {} };
  const inOrder = isNewestFirst ? (a: PartPlace, b: PartPlace) => inLine(b, a) : inLine;
  const begins = keys.tags.map((_, partition) => (after?.parts ? (after.parts[partition] ?? null) : after));
  const parts = await Promise.all(keys.tags.map((tag, p) => scripts.page(tag, { ...asked, after: begins[p] ?? null })));
  const found = parts.flatMap(({ entries }, partition) => entries.map((entry) => ({ ...entry, partition })));
  for (const { id, partition } of found) homes.note(id, partition);
  const lasts = parts.map(({ last }, partition) => last && { ...last, partition });
  // Later entries cannot be used: partitions that were not read that far may have others that come first.
  const seenTo = lasts
    .filter((last, partition): last is PartPlace => last !== null && parts[partition]?.more === true)
    .reduce<PartPlace | null>((first, last) => (first === null || inOrder(last, first) < 0 ? last : first), null);
  const known = found.filter((entry) => seenTo === null || inOrder(entry, seenTo) <= 0).sort(inOrder);
  const entries = known.slice(0, limit);
  const end = known.length > limit ? (entries.at(-1) ?? null) : seenTo;
  const isFair = keys.partitions > 1 && lasts.some((last) => last?.order.includes("."));
  const ends = () =>
    lasts.map((last, p) => {
      if (last !== null && end !== null && inOrder(last, end) <= 0) return last;
      return entries.findLast(({ partition }) => partition === p) ?? begins[p] ?? null;
    });
  return {
    entries,
    next: end && (isFair || after?.parts ? { ...end, parts: ends() } : end),
    looked: parts.reduce((sum, { looked }) => sum + looked, 0),
    nowMs: Math.min(...parts.map(({ nowMs }) => nowMs)),
  };
}

function inLine(a: PartPlace, b: PartPlace): number {
  const byOrder = Number(a.order) - Number(b.order);
  if (byOrder !== 0) return byOrder;
  // If scores are not comparable, the lower partition is first, as in the count of places.
  if (a.order !== a.score || b.order !== b.score) {
    return a.partition - b.partition || Number(a.score) - Number(b.score) || byId(a, b);
  }
  return byId(a, b);
}

const byId = (a: Place, b: Place): number => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
