import { BATCH_LIMIT } from "../../store/library/verb.ts";
import type { Filter, Place } from "../../store/line/page.ts";
import type { Engine } from "../engine.ts";
import type { Page, PageRequest } from "../watch/pages.ts";

/** An action on many tasks. */
export type BulkAction = "cancel" | "retry" | "delete";

/** Where the next step begins. */
export interface BulkPlace extends Place {
  /** When the first step began, ms, by the store's clock: later tasks are left alone, so that the steps end. */
  readonly asOfMs: number;
}

interface BulkStep {
  readonly action: BulkAction;
  readonly queue: string;
  readonly filter: Filter;
  readonly after: BulkPlace | null;
  /** Only counts the tasks that match. */
  readonly dryRun: boolean;
  /** Whether the score of an entry is the time when it joined the list: for dead and finished tasks. */
  readonly byTime: boolean;
  /** Reads up to `limit` tasks that match, as far as one step goes. */
  page(request: PageRequest): Promise<Page>;
}

/** The result of a step. */
export interface BulkDone {
  readonly matched: number;
  /** How many were changed; the others were in another state by then. */
  readonly done: number;
  readonly looked: number;
  readonly next: BulkPlace | null;
}

/** One bounded step of an action on all matching tasks of a list. @throws ProblemError store-unavailable */
export async function bulkStep(
  engine: Pick<Engine, "call" | "scans">,
  { action, queue, filter, after, dryRun, byTime, page }: BulkStep,
): Promise<BulkDone> {
  const asOfMs = after?.asOfMs;
  const bounded = byTime ? { lastScore: asOfMs, filter } : { filter: { ...filter, beforeMs: asOfMs } };
  const { entries, next, looked, nowMs } = await page({ queue, after, limit: BATCH_LIMIT, ...bounded });
  const act = async (id: string): Promise<boolean> => {
    if (action === "retry") return (await engine.call("retry", { id, queue })) === "waiting";
    const verdict = await engine.call("cancel", { id, queue, only: action === "cancel" ? "pending" : "ended" });
    return verdict === "canceled" || verdict === "requested" || verdict === "deleted";
  };
  const change = () => Promise.all(entries.map(({ id }) => act(id)));
  const changed = dryRun || entries.length === 0 ? [] : await engine.scans.step(change);
  return {
    matched: entries.length,
    done: changed.filter(Boolean).length,
    looked,
    next: next && { ...next, asOfMs: asOfMs ?? nowMs },
  };
}
