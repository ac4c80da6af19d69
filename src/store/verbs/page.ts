import type { State } from "../../task.ts";
import { type Index, START } from "../keys.ts";
import { STATE_LETTERS } from "../letters.ts";
import { type Names, named, names, verb, written } from "./codec.ts";
import { list, number, type Reply, text } from "./reply.ts";

/** The place of a task in an index. */
export interface Place {
  readonly id: string;
  readonly score: string;
}

/** The same of a listed task. */
export interface Entry extends Place {
  /** Its last run, see {@link runOf}; "" if it was never reserved. */
  readonly run: string;
  /** Why it failed, see error_of in lua/filter.lua; "" unless that was asked for. */
  readonly error: string;
  /** Whether it is dead and can be run again; false unless errors were asked for. */
  readonly retryable: boolean;
}

/** Which tasks of a list are wanted; a member that is left out matches anything. */
export interface Filter {
  readonly prefix?: string | undefined;
  readonly caller?: string | undefined;
  /** A part of the id, the label or the line key. */
  readonly text?: string | undefined;
  /** As it is stored. */
  readonly key?: string | undefined;
  readonly states?: readonly State[] | undefined;
  /** Why they failed, as it is in {@link Entry}. */
  readonly error?: string | undefined;
  /** Whether entries say why they failed, and whether they can be run again. Default: no. */
  readonly withErrors?: boolean | undefined;
  /** Created then or earlier, ms. */
  readonly beforeMs?: number | undefined;
  /** Created at least this long ago, ms. */
  readonly ageMs?: number | undefined;
}

interface PageRequest {
  readonly index: Index;
  readonly queue: string;
  /** The last place of the page before; null for the first page. */
  readonly after: Place | null;
  readonly limit: number;
  /** Maximum number of entries to read. */
  readonly max: number;
  /** The highest score that is wanted. Default: any. */
  readonly lastScore?: number | undefined;
  /** In reverse: the highest score first. Default: no. */
  readonly isNewestFirst?: boolean | undefined;
  readonly filter: Filter;
}

/** A page as it is read. */
export interface PageAnswer {
  readonly nowMs: number;
  readonly looked: number;
  /** Whether there are entries after the last one that was read. */
  readonly more: boolean;
  /** The last entry that was read; null if none was. */
  readonly last: Place | null;
  readonly entries: readonly Entry[];
}

/** A page of the tasks that finished last; the score of a place is when its task ended, ms. */
interface FinishedRequest {
  readonly queue: string;
  /** The last place of the page before; null for the first page. */
  readonly after: Place | null;
  readonly limit: number;
  /** Maximum number of entries to read. */
  readonly max: number;
  readonly filter: Filter;
}

/** A filter as it is sent: lua/filter.lua. */
interface SentFilter extends Omit<Filter, "states"> {
  /** The text with its accents apart from their letters, if that differs. */
  readonly decomposed: string | undefined;
  /** Their letters. */
  readonly states: string | undefined;
}
interface SentPage extends SentFilter, Omit<PageRequest, "index" | "after" | "filter" | "lastScore"> {
  /** The start of its Redis keys. */
  readonly index: string;
  /** Of the last entry of the page before. */
  readonly score: string | undefined;
  readonly id: string | undefined;
  readonly lastScore: number | string;
}
interface SentFinished extends SentFilter, Pick<FinishedRequest, "queue" | "limit" | "max"> {
  /** When the last task of the page before ended, ms. */
  readonly ended: string | undefined;
  /** The id of that task. */
  readonly id: string | undefined;
}

const FILTER = names<SentFilter>(
  ...(["prefix", "text", "decomposed", "caller", "key", "states", "error", "withErrors", "beforeMs", "ageMs"] as const),
);
const PAGE = names<SentPage>(
  ...(["index", "queue", "score", "id", "limit", "max", "lastScore", "isNewestFirst"] as const),
  ...(FILTER as Names<SentPage>),
);
const PART = ["nowMs", "looked", "more", "last", "entries"] as const;
const FINISHED = names<SentFinished>("queue", "ended", "id", "limit", "max", ...(FILTER as Names<SentFinished>));
const ENTRY = names<Entry>("id", "score", "run", "error", "retryable");
const PLACE = names<Place>("id", "score");

/** The tasks of an index after a place, in order. */
export const page = verb({
  layout: { args: PAGE, answer: PART, entry: ENTRY, last: PLACE },
  write: ({ index, after, filter, lastScore, ...asked }: PageRequest) => {
    const place = { score: after?.score, id: after?.id };
    return written<SentPage>(PAGE, {
      index: START[index],
      ...place,
      lastScore: lastScore ?? "+inf",
      ...asked,
      ...sentFilter(filter),
    });
  },
  read: pageOf,
});

/** The tasks of a queue that finished last, the newest first. */
export const finished = verb({
  layout: { args: FINISHED, answer: PART, entry: ENTRY, last: PLACE },
  write: ({ queue, after, limit, max, filter }: FinishedRequest) => {
    const place = { ended: after?.score, id: after?.id };
    return written<SentFinished>(FINISHED, { queue, ...place, limit, max, ...sentFilter(filter) });
  },
  read: pageOf,
});

/** Unicode writes an ü in two ways, which are the same to a person: labels and keys have either. */
const sentFilter = ({ states, text, ...filter }: Filter): SentFilter => ({
  ...filter,
  text: text?.normalize("NFC"),
  decomposed: text?.normalize("NFD") === text?.normalize("NFC") ? undefined : text?.normalize("NFD"),
  states: states?.map((state) => STATE_LETTERS[state]).join(""),
});

function pageOf(reply: Reply): PageAnswer {
  const { nowMs, looked, more, last, entries } = named(PART, reply);
  const { id, score } = named(PLACE, last);
  return {
    nowMs: number(nowMs),
    looked: number(looked),
    more: text(more) === "1",
    last: text(id) === "" ? null : { id: text(id), score: text(score) },
    entries: list(entries).map(entryOf),
  };
}

/** Parses an entry. */
function entryOf(reply: Reply): Entry {
  const { id, score, run, error, retryable } = named(ENTRY, reply);
  return { id: text(id), score: text(score), run: text(run), error: text(error), retryable: text(retryable) === "1" };
}
