import type { Context } from "koa";
import { parseDuration } from "../../config/duration.ts";
import { type AdjustBody, adjustBody } from "../../wire/adjustment.ts";
import { wrongParameter } from "../../wire/parameter.ts";
import type { Api } from "../api.ts";
import { logAction } from "../audit-log.ts";
import { readJson } from "../input/body.ts";
import { json, jsonBody } from "../openapi/responses.ts";
import { ADMIN, type Route } from "../route.ts";
import { accessOf } from "../task/access.ts";
import { shownQueue } from "./named-queue.ts";
import { queueDocument } from "./queues.ts";

/** Changing what holds a queue while it runs. */
export function adjustRoutes(api: Api): readonly Route[] {
  return [
    {
      name: "adjust",
      method: "PATCH",
      path: "/v1/queues/:queue",
      scopes: ADMIN,
      tag: "Queues",
      summary: "Change the concurrency or the rate of a queue while it runs",
      description:
        "Kept in Redis, and shown in `settings` beside what the handler declares. Running tasks go on: where fewer may run at a time, no more " +
        "start until enough of them have ended. A rate counts the starts before it was set too, as far as they are known.",
      body: jsonBody("adjust"),
      answers: { "200": json("Done.", "Queue") },
      run: (ctx) => adjust(ctx, api),
    },
  ];
}

async function adjust(ctx: Context, api: Api): Promise<void> {
  const queue = shownQueue(api, ctx.params.queue);
  const body = await readJson(ctx.req, adjustBody, api.maxBodyBytes);
  const { concurrency, rate } = body;
  const { queues, events } = api.engine;
  // Slots belong to worker processes that have its handler.
  if (concurrency !== undefined && !queues.own.get(queue)?.concurrency) {
    throw wrongParameter("concurrency", "no worker process runs the handler of this queue");
  }
  await queues.adjust(queue, { concurrency, rate: rate && { max: rate.max, perMs: parseDuration(rate.per) ?? 0 } });
  logAction(ctx, api, "adjust", { queue, ...body });
  await events.note({ kind: "settings-changed", queue, ...byOf(ctx), detail: detailOf(body) });
  ctx.body = await queueDocument(ctx, api, queue);
}

function byOf(ctx: Context): { by?: string } {
  const { caller } = accessOf(ctx);
  return caller === null ? {} : { by: caller };
}

/** What was set, for people. */
function detailOf({ concurrency, rate }: AdjustBody): string {
  const words: string[] = [];
  if (concurrency !== undefined) words.push(`concurrency ${concurrency ?? "as declared"}`);
  if (rate !== undefined) words.push(`rate ${rate ? `${rate.max}/${rate.per}` : "as declared"}`);
  return words.join(", ");
}
