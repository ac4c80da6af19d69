import { BATCH_LIMIT, type Filter } from "../../store/verbs/scripts.ts";
import type { Engine } from "../engine.ts";
import type { Page, PageEnd, PageRequest } from "../reading/page.ts";

/** What is done to many tasks. */
export type BulkAction = "cancel" | "retry" | "delete";

/** Where the next step begins. */
export interface BulkPlace extends PageEnd {
  /** When the first step began, ms, by the store's clock: what came later is left alone, so that the steps end. */
  readonly asOfMs: number;
}

interface BulkStep {
  readonly action: BulkAction;
  readonly queue: string;
  readonly filter: Filter;
  readonly after: BulkPlace | null;
  /** Only count. */
  readonly dryRun: boolean;
  /** The score of an entry is when it came: in the lists of dead and finished tasks. */
  readonly byTime: boolean;
  page(request: PageRequest): Promise<Page>;
}

/** What a step has done. */
export interface BulkDone {
  readonly matched: number;
  /** How many have really changed: the others were in another state by then. */
  readonly done: number;
  readonly looked: number;
  readonly next: BulkPlace | null;
}

/** One bounded step of doing something to all wanted tasks of a list. @throws PaihaoError store-unavailable */
export async function bulkStep(
  engine: Pick<Engine, "tasks">,
  { action, queue, filter, after, dryRun, byTime, page }: BulkStep,
): Promise<BulkDone> {
  const asOfMs = after?.asOfMs;
  const bounded = byTime ? { lastScore: asOfMs, filter } : { filter: { ...filter, beforeMs: asOfMs } };
  const { entries, next, looked, nowMs } = await page({ queue, after, limit: BATCH_LIMIT, ...bounded });
  const act = async (id: string): Promise<boolean> => {
    if (action === "retry") return (await engine.tasks.retry(id)) === "waiting";
    const verdict = await engine.tasks.cancel(id, queue, action === "cancel" ? "pending" : "ended");
    return verdict === "canceled" || verdict === "requested" || verdict === "destroyed";
  };
  const changed = dryRun ? [] : await Promise.all(entries.map(({ id }) => act(id)));
  return {
    matched: entries.length,
    done: changed.filter(Boolean).length,
    looked,
    next: next && { ...next, asOfMs: asOfMs ?? nowMs },
  };
}
