import { type Index, START } from "../keys.ts";
import { list, text } from "./reply.ts";
import type { Script } from "./script.ts";

/** The indexes that an operator can page through. */
export type PagedIndex = Exclude<Index, "scheduled">;

/** The place of a task in an index. */
export interface Place {
  readonly id: string;
  readonly score: string;
}

interface PageRequest {
  readonly index: PagedIndex;
  readonly queue: string;
  /** The last place of the page before; null for the first page. */
  readonly after: Place | null;
  readonly limit: number;
}

const LONGEST = 200;

/** The tasks of an index after a place, in order. */
export const page =
  (script: Script) =>
  async (tag: string, { index, queue, after, limit }: PageRequest): Promise<Place[]> => {
    const args = [START[index], queue, after?.score ?? "-inf", after?.id ?? "", Math.min(limit, LONGEST)];
    const reply = list(await script.text(tag, args));
    const places: Place[] = [];
    for (let i = 0; i < reply.length; i += 2) places.push({ id: text(reply[i]), score: text(reply[i + 1]) });
    return places;
  };
