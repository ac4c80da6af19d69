import { SHARED } from "../../store/constants.ts";
import type { Keys } from "../../store/keys.ts";
import type { Scripts } from "../../store/library/scripts.ts";
import { BATCH_LIMIT } from "../../store/library/verb.ts";
import type { PageAnswer, Place } from "../../store/line/page.ts";
import type { RetryVerdict } from "../../store/task/actions.ts";
import { newCall } from "../calls/calls.ts";
import { looksOf, type Scans } from "../watch/pages.ts";

/** The tasks that died of one error. */
export interface ErrorGroup {
  /** Why they failed, as it is in an entry of a page. */
  readonly error: string;
  readonly count: number;
  /** How many of them can be run again. */
  readonly retryable: number;
  /** When the first and the last of them died, ms. */
  readonly firstMs: number;
  readonly lastMs: number;
}

/**
 * Verbs on all dead tasks of a queue. Each call counts the dead tasks at its beginning, and processes that many of the oldest, each once:
 * it ends even if tasks keep dying.
 */
export class DeadLetters {
  readonly #scripts: Pick<Scripts, "page" | "queue" | "deleteDead">;
  readonly #keys: Keys;
  readonly #scans: Scans;
  readonly #retry: (id: string, queue: string) => Promise<RetryVerdict>;

  /** @param retry runs one dead task of a queue again */
  constructor(
    scripts: Pick<Scripts, "page" | "queue" | "deleteDead">,
    keys: Keys,
    scans: Scans,
    retry: (id: string, queue: string) => Promise<RetryVerdict>,
  ) {
    this.#scripts = scripts;
    this.#keys = keys;
    this.#scans = scans;
    this.#retry = retry;
  }

  /** Runs them all again; returns how many. Stops when the signal fires. @throws ProblemError store-unavailable */
  async retryAll(queue: string, signal?: AbortSignal): Promise<number> {
    const tag = this.#keys.tagOfQueue(queue);
    const seen = new Set<string>();
    let retried = 0;
    let left = await this.#deadIn(tag, queue);
    for (let after: Place | null = null; left > 0 && !signal?.aborted; ) {
      const limit = Math.min(BATCH_LIMIT, left);
      const asked = { index: "dead", queue, after, limit, max: limit, filter: {} } as const;
      const page: PageAnswer = await this.#scans.step(() => this.#scripts.page(tag, asked));
      after = page.last;
      if (after === null) break;
      left -= page.looked;
      const ids = page.entries.map(({ id }) => id).filter((id) => !seen.has(id));
      for (const id of ids) seen.add(id);
      const verdicts = await this.#scans.step(() => Promise.all(ids.map((id) => this.#retry(id, queue))));
      retried += verdicts.filter((verdict) => verdict === "waiting").length;
    }
    return retried;
  }

  /** Deletes them all; returns how many. Stops when the signal fires. @throws ProblemError store-unavailable */
  async deleteAll(queue: string, signal?: AbortSignal): Promise<number> {
    const tag = this.#keys.tagOfQueue(queue);
    let deleted = 0;
    for (let left = await this.#deadIn(tag, queue); left > 0 && !signal?.aborted; ) {
      const limit = Math.min(BATCH_LIMIT, left);
      const asked = { queue, limit, call: newCall() };
      const some = await this.#scans.step(() => this.#scripts.deleteDead(tag, asked));
      deleted += some;
      left = some < limit ? 0 : left - some;
    }
    return deleted;
  }

  /**
   * What the dead tasks of a queue died of, the most frequent error first. Stops when the signal fires.
   * @throws ProblemError store-unavailable
   */
  async errors(queue: string, signal?: AbortSignal): Promise<ErrorGroup[]> {
    const tag = this.#keys.tagOfQueue(queue);
    const groups = new Map<string, ErrorGroup>();
    let left: number = SHARED.deadCap;
    const filter = { withErrors: true };
    const max = looksOf(filter);
    for (let after: Place | null = null; left > 0 && !signal?.aborted; ) {
      const asked = { index: "dead", queue, after, limit: max, max, filter } as const;
      const page: PageAnswer = await this.#scans.step(() => this.#scripts.page(tag, asked));
      for (const { error, score, retryable: isRetryable } of page.entries) {
        // A task whose record has expired.
        if (error === "") continue;
        const diedMs = Number(score);
        const { count = 0, retryable = 0, firstMs = diedMs } = groups.get(error) ?? {};
        // They come in the order in which they died.
        groups.set(error, {
          ...{ error, count: count + 1, retryable: retryable + Number(isRetryable) },
          ...{ firstMs, lastMs: diedMs },
        });
      }
      left -= page.looked;
      after = page.more ? page.last : null;
      if (after === null) break;
    }
    return [...groups.values()].sort((a, b) => b.count - a.count || b.lastMs - a.lastMs);
  }

  async #deadIn(tag: string, queue: string): Promise<number> {
    const [row] = await this.#scripts.queue(tag, [queue]);
    return row?.dead ?? 0;
  }
}
