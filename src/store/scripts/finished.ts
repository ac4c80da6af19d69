import type { Place } from "./page.ts";
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
}

/** What finished.lua answers. */
interface FinishedPage {
  /** How many entries come before the page. */
  readonly before: number;
  readonly places: readonly Place[];
}

/** The tasks of a queue that finished last, the newest first. */
export const finished =
  (script: Script) =>
  async (tag: string, { queue, after, side, limit }: FinishedRequest): Promise<FinishedPage> => {
    const id = side === "own" ? (after?.id ?? "") : "";
    const args = [queue, after?.score ?? "", id, side === "after" ? "1" : "", limit];
    const [before, page] = list(await script.text(tag, args));
    const reply = list(page);
    const places: Place[] = [];
    for (let i = 0; i < reply.length; i += 2) places.push({ id: text(reply[i]), score: text(reply[i + 1]) });
    return { before: number(before), places };
  };
