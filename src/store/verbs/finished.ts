import { type Entry, entryOf, type Filter, filterArguments, type Place } from "./page.ts";
import { list, number, text } from "./reply.ts";
import type { Script } from "./script.ts";

/** A page of the tasks that finished last, in one partition; the score of a place is when its task ended, ms. */
interface FinishedRequest {
  readonly queue: string;
  /** The last place of the page before; null for the first page. */
  readonly after: Place | null;
  /** Whether that task is of this partition, and if not, whether tasks here that ended in the same ms come after it. */
  readonly side: "own" | "before" | "after";
  readonly limit: number;
  readonly filter: Filter;
}

/** What finished.lua answers. */
interface FinishedPage {
  /** How many entries come before the page. */
  readonly before: number;
  readonly looked: number;
  readonly entries: readonly Entry[];
  readonly nowMs: number;
}

/** The tasks of a queue that finished last, the newest first. */
export const finished =
  (script: Script) =>
  async (tag: string, { queue, after, side, limit, filter }: FinishedRequest): Promise<FinishedPage> => {
    const id = side === "own" ? (after?.id ?? "") : "";
    const place = [after?.score ?? "", id, side === "after" ? "1" : ""];
    const reply = await script.text(tag, [queue, ...place, limit, ...filterArguments(filter)]);
    const [before, looked, entries, now] = list(reply);
    return {
      before: number(before),
      looked: number(looked),
      entries: list(entries).map(entryOf),
      nowMs: Number(text(now)),
    };
  };
