import type { Context } from "koa";
import { type BulkPlace, bulkStep } from "../../engine/upkeep/bulk.ts";
import type { PageRequest } from "../../engine/watch/pages.ts";
import { type BulkStep, bulkBody } from "../../wire/queue.ts";
import { wrongParameter } from "../../wire/request.ts";
import type { Api } from "../api.ts";
import { logAction } from "../audit-log.ts";
import { json, jsonBody } from "../openapi/responses.ts";
import { readJson } from "../request/body.ts";
import { shownQueue } from "../request/queue.ts";
import { ADMIN, type Route } from "../route.ts";
import { cursorOf, filledPage, filterOf, readCursor } from "./lists.ts";

/** The maximum number of entries that a step looks at. */
const MAX_LOOKED_AT = 500;

/** Cancels, retries and deletes all tasks that match, in bounded steps. */
export function bulkRoutes(api: Api): readonly Route[] {
  return [
    {
      name: "bulk",
      method: "POST",
      path: "/v1/queues/:queue/bulk",
      scopes: ADMIN,
      tag: "Queues",
      summary: "Cancel, retry or delete all tasks that match",
      description:
        "One step, of at most 100 tasks: repeat it with `cursor` set to `next` until that is null. Tasks that arrive after the first step are left " +
        "alone, so that the steps end while tasks arrive. `cancel` goes with the lists `waiting`, `scheduled` and `running`, `retry` with " +
        "`dead`, `delete` with `dead` and `finished`.",
      body: jsonBody("bulk"),
      answers: { "200": json("The step is done.", "BulkStep") },
      run: (ctx) => bulk(ctx, api),
    },
  ];
}

async function bulk(ctx: Context, api: Api): Promise<void> {
  const queue = shownQueue(api, ctx.params.queue);
  const { action, list, cursor, dryRun, ...filter } = await readJson(ctx.req, bulkBody, api.maxBodyBytes);
  const step = {
    action,
    queue,
    dryRun,
    filter: filterOf(filter) ?? {},
    after: cursor ? readBulkCursor(cursor) : null,
    byTime: list === "dead" || list === "finished",
    page: (request: PageRequest) => filledPage(ctx, api, list, request, MAX_LOOKED_AT),
  };
  const { matched, done, looked, next } = await api.engine.scans.run(() => bulkStep(api.engine, step));
  if (!dryRun) logAction(ctx, api, action, { queue, list, ...filter, matched, done });
  ctx.body = { matched, done, scanned: looked, next: next && `${cursorOf(next)}.${next.asOfMs}` } satisfies BulkStep;
}

/** @throws ProblemError invalid-parameter */
function readBulkCursor(cursor: string): BulkPlace {
  const [, place = "", asOf] = /^([\w-]+)\.(\d{1,15})$/.exec(cursor) ?? [];
  if (asOf === undefined) throw wrongParameter("cursor", "expected the `next` of another step");
  return { ...readCursor(place), asOfMs: Number(asOf) };
}
