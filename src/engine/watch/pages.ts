import { setTimeout as delay } from "node:timers/promises";
import { ProblemError } from "../../errors.ts";
import type { Index, Keys } from "../../store/keys.ts";
import type { Scripts } from "../../store/library/scripts.ts";
import type { Entry, Filter, Place } from "../../store/line/page.ts";

/** Maximum number of tasks on a page. */
const LONGEST = 200;
/** Maximum number of entries that are read in one call for a filtered page; fewer if their errors are read: about 2 ms of the store each. */
const MAX_LOOKED_AT = 100;
const MAX_ERRORS = 50;

/** How many entries are read in one call. */
export const looksOf = (filter: Filter): number =>
  filter.error === undefined && !filter.withErrors ? MAX_LOOKED_AT : MAX_ERRORS;

/** A request for a page. */
export interface PageRequest {
  readonly queue: string;
  /** The place after which the page begins; null for the first page. */
  readonly after: Place | null;
  readonly limit: number;
  /** The highest score that is wanted. Default: any. */
  readonly lastScore?: number | undefined;
  /** In reverse. Default: no. */
  readonly isNewestFirst?: boolean | undefined;
  /** Default: all. */
  readonly filter?: Filter | undefined;
}

/** Some of the tasks of a list. */
export interface Page {
  readonly entries: readonly Entry[];
  /** The place after which the next page begins, even if this one is empty; null if there are no more. */
  readonly next: Place | null;
  /** How many entries were read. */
  readonly looked: number;
  /** The time of the store. */
  readonly nowMs: number;
}

/** The matching tasks of an index after a given place, in order. The work is bounded, however few match. */
export async function pageOf(
  scripts: Pick<Scripts, "page">,
  keys: Keys,
  index: Index,
  { queue, after, lastScore, isNewestFirst, filter, ...request }: PageRequest,
): Promise<Page> {
  const limit = Math.min(request.limit, LONGEST);
  const max = filter === undefined ? limit : looksOf(filter);
  const asked = { index, queue, after, limit, max, lastScore, isNewestFirst, filter: filter ?? {} };
  const { entries, more, last, looked, nowMs } = await scripts.page(keys.tagOfQueue(queue), asked);
  return { entries, next: more ? last : null, looked, nowMs };
}

/** The tasks of a queue that finished last, the newest first. */
export async function finishedOf(
  scripts: Pick<Scripts, "finished">,
  keys: Keys,
  { queue, after, limit, filter }: PageRequest,
): Promise<Page> {
  const max = filter === undefined ? LONGEST : looksOf(filter);
  const asked = { queue, after, limit, max, filter: filter ?? {} };
  const { entries, more, last, looked, nowMs } = await scripts.finished(keys.tagOfQueue(queue), asked);
  return { entries, next: more ? last : null, looked, nowMs };
}

/** What looking through lists may take of the store's time, over all who look in this process. */
const SHARE = 0.2;
/** A step that had to wait for a busy store does not delay the next one for longer, ms. */
const MAX_PAUSE_MS = 50;
/** How many may look at a time: each takes a step in turn. */
const MAX_SCANS = 8;
/** The Retry-After for one more, seconds: one of them may have ended by then. */
const RETRY_AFTER_S = 2;

/**
 * Searches, filtered lists and actions on many tasks: they look through lists in steps of a few milliseconds. Of all of them one step at a
 * time is taken, with a pause behind it, so that they do not delay submissions and workers, however many look.
 */
export class Scans {
  #looks = 0;
  /** Resolves when the next step may be taken. */
  #turn: Promise<unknown> = Promise.resolve();

  /** Looks through lists. @throws ProblemError rate-limited if too many do so already */
  async run<T>(look: () => Promise<T>): Promise<T> {
    if (this.#looks >= MAX_SCANS) {
      const detail = `${MAX_SCANS} requests search lists of tasks already.`;
      throw new ProblemError("rate-limited", detail, { retryAfterS: RETRY_AFTER_S });
    }
    this.#looks += 1;
    try {
      return await look();
    } finally {
      this.#looks -= 1;
    }
  }

  /**
   * Takes a step when its turn has come: a call of the store, or some that are sent together.
   * @throws ProblemError store-unavailable, also if a step before it has found that: it does not wait for the same
   */
  step<T>(call: () => Promise<T>): Promise<T> {
    let begunAt = 0;
    const taken = this.#turn.then(() => {
      begunAt = performance.now();
      return call();
    });
    const pause = () => delay(Math.min(MAX_PAUSE_MS, (performance.now() - begunAt) * (1 / SHARE - 1)));
    const turn = taken.then(pause, (error: unknown) => {
      if (error instanceof ProblemError && error.code === "store-unavailable") throw error;
      return pause();
    });
    turn.catch(() => {
      if (this.#turn === turn) this.#turn = Promise.resolve();
    });
    this.#turn = turn;
    return taken;
  }
}
