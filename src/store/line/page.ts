import type { State } from "../../task.ts";
import { STATE_LETTERS } from "../fields.ts";
import { type Index, START } from "../keys.ts";
import { jsonVerb } from "../library/verb.ts";

/** The place of a task in an index. */
export interface Place {
  readonly id: string;
  readonly score: string;
}

/** The same of a listed task. */
export interface Entry extends Place {
  /** Its last run, see {@link runOf}; "" if it was never reserved. */
  readonly run: string;
  /** Why it failed, see error_of in page.lua; "" unless that was asked for. */
  readonly error: string;
  /** Whether it is dead and can be run again; false unless errors were asked for. */
  readonly retryable: boolean;
  /** Whose it is, "" for nobody's; left out unless callers were asked for. */
  readonly caller?: string;
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
  /** Whether entries say whose they are. Default: no. */
  readonly withCallers?: boolean | undefined;
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

/** The tasks of an index after a place, in order. */
export const page = jsonVerb<PageRequest, PageAnswer>({
  sent: ({ index, filter, ...asked }) => ({
    ...asked,
    lastScore: asked.lastScore ?? "+inf",
    index: START[index],
    filter: sentFilter(filter),
  }),
});

/** The tasks of a queue that finished last, the newest first. */
export const finished = jsonVerb<FinishedRequest, PageAnswer>({
  sent: ({ filter, ...asked }) => ({ ...asked, filter: sentFilter(filter) }),
});

/** Unicode writes an ü in two ways, which are the same to a person: labels and keys have either. */
function sentFilter({ states, text, ...filter }: Filter): object {
  const [composed, decomposed] = [text?.normalize("NFC"), text?.normalize("NFD")];
  return {
    ...filter,
    text: composed,
    ...(decomposed !== composed && { decomposed }),
    states: states?.map((state) => STATE_LETTERS[state]).join(""),
  };
}
