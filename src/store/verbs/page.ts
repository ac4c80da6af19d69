import type { State } from "../../task.ts";
import { type Index, START } from "../keys.ts";
import { STATE_LETTERS } from "../letters.ts";
import { list, number, text } from "./reply.ts";
import type { Argument, Reply, Script } from "./script.ts";

/** The place of a task in an index. */
export interface Place {
  readonly id: string;
  readonly score: string;
}

/** The same among those of other partitions. */
export interface OrderedPlace extends Place {
  /** The score there: in a fair line each partition has scores of its own. */
  readonly order: string;
}

/** The same of a listed task. */
export interface Entry extends OrderedPlace {
  /** Its key in a fair or keyed line as it is stored: see engine/submission/submission.ts; "" if it has none. */
  readonly key: string;
  /** Its last run, see {@link runOf}; "" if it was never reserved. */
  readonly run: string;
}

/** Which tasks of a list are wanted; what is left out may be anything. */
export interface Filter {
  readonly prefix?: string | undefined;
  readonly caller?: string | undefined;
  /** As it is stored. */
  readonly key?: string | undefined;
  readonly states?: readonly State[] | undefined;
  /** Created then or earlier, ms. */
  readonly beforeMs?: number | undefined;
  /** Created so long ago or longer, ms. */
  readonly ageMs?: number | undefined;
}

interface PageRequest {
  readonly index: Index;
  readonly queue: string;
  /** The last place of the page before; null for the first page. */
  readonly after: Place | null;
  readonly limit: number;
  /** The most entries to look at. */
  readonly most: number;
  /** The highest score that is wanted. Default: any. */
  readonly lastScore?: number | undefined;
  /** In reverse: the highest score first. Default: no. */
  readonly isNewestFirst?: boolean | undefined;
  readonly filter: Filter;
}

/** A page of one partition. */
export interface PagePart {
  readonly nowMs: number;
  readonly looked: number;
  /** There are others behind the last that was looked at. */
  readonly more: boolean;
  /** The last one that was looked at; null if none was. */
  readonly last: OrderedPlace | null;
  readonly entries: readonly Entry[];
}

/** The tasks of an index after a place, in order. */
export const page =
  (script: Script) =>
  async (
    tag: string,
    { index, queue, after, limit, most, lastScore, isNewestFirst, filter }: PageRequest,
  ): Promise<PagePart> => {
    const place = [after?.score ?? "-inf", after?.id ?? ""];
    const order = isNewestFirst ? "1" : "";
    const args = [START[index], queue, ...place, limit, most, lastScore ?? "+inf", order, ...filterArguments(filter)];
    const [now, looked, more, last, entries] = list(await script.text(tag, args));
    const [id = "", score = "", told = ""] = list(last).map(text);
    return {
      nowMs: number(now),
      looked: number(looked),
      more: text(more) === "1",
      last: id === "" ? null : { id, score, order: told },
      entries: list(entries).map(entryOf),
    };
  };

/** The arguments of lua/filter.lua. */
export function filterArguments({ prefix, caller, key, states, beforeMs, ageMs }: Filter): Argument[] {
  const letters = states?.map((state) => STATE_LETTERS[state]).join("");
  return [prefix ?? "", caller ?? "", key ?? "", letters ?? "", beforeMs ?? "", ageMs ?? ""];
}

/** Parses an entry. */
export function entryOf(reply: Reply): Entry {
  const [id, score, key, run, order = score] = list(reply);
  return { id: text(id), score: text(score), key: text(key), run: text(run), order: text(order) };
}
