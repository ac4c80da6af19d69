import type { Context } from "koa";
import { parseDuration } from "../../config/duration.ts";
import { estimate, rateLimitOf } from "../../engine/estimates/estimate.ts";
import { meanOfEnded } from "../../engine/estimates/service-figures.ts";
import { slotsWanted } from "../../engine/estimates/slots-wanted.ts";
import type { Adjustment } from "../../engine/queues.ts";
import { type Handler, inputJsonSchema } from "../../handler/define.ts";
import { isInternalQueue } from "../../handler/internal-queues.ts";
import { Portions } from "../../portions.ts";
import type { QueueRow } from "../../store/line/queue.ts";
import { QUEUE_ACTIONS } from "../../task.ts";
import { timestamp } from "../../wire/document.ts";
import { type AdjustBody, adjustBody, type Queue, type QueueAction } from "../../wire/queue.ts";
import { wrongParameter } from "../../wire/request.ts";
import type { Api } from "../api.ts";
import { logAction } from "../audit-log.ts";
import { json, jsonBody } from "../openapi/responses.ts";
import { type Access, accessOf, hasScope } from "../request/access.ts";
import { readJson } from "../request/body.ts";
import { shownQueue, takesInputs } from "../request/queue.ts";
import { ADMIN, READ, type Route, SUBMIT } from "../route.ts";
import { replyList } from "./json-list.ts";

/** Queues and their figures; what operators change of one while it runs. */
export function queueRoutes(api: Api): readonly Route[] {
  const pauseRoute = (name: "pause" | "resume", summary: string): Route => ({
    ...{ name, method: "POST", path: `/v1/queues/:queue/${name}`, scopes: ADMIN },
    ...{ tag: "Queues", summary, answers: { "200": json("Done.", "Queue") } },
    run: (ctx) => pause(ctx, api, name === "pause"),
  });
  return [
    {
      name: "queues",
      method: "GET",
      path: "/v1/queues",
      scopes: "any",
      tag: "Queues",
      summary: "All queues",
      answers: { "200": json("The queues.", "Queues") },
      run: (ctx) => replyAll(ctx, api),
    },
    {
      name: "queue",
      method: "GET",
      path: "/v1/queues/:queue",
      scopes: "any",
      tag: "Queues",
      summary: "One queue: depth, rates, service times, workers, input",
      answers: { "200": json("Done.", "Queue") },
      run: async (ctx) => {
        ctx.body = await queueDocument(ctx, api, shownQueue(api, ctx.params.queue));
      },
    },
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
    pauseRoute("pause", "Pause: start no more tasks"),
    pauseRoute("resume", "Resume: start tasks again"),
  ];
}

async function replyAll(ctx: Context, api: Api): Promise<void> {
  const figures = await api.engine.queues.allFigures();
  const items: Queue[] = [];
  const portions = new Portions();
  for (const row of figures) {
    items.push(documentOf(ctx, api, row));
    await portions.pause();
  }
  replyList(ctx, {}, "items", items);
}

/** The present state of a queue for the sender of a request. */
async function queueDocument(ctx: Context, api: Api, queue: string): Promise<Queue | undefined> {
  const [row] = await api.engine.queues.figures([queue]);
  return row && documentOf(ctx, api, row);
}

/** What a caller can do with a queue. */
function actionsOf(access: Access, handler: Handler | undefined, paused: boolean): QueueAction[] {
  const can: Readonly<Record<QueueAction, boolean>> = {
    submit: hasScope(access, SUBMIT) && takesInputs(handler),
    list: hasScope(access, READ),
    pause: hasScope(access, ADMIN) && !paused,
    resume: hasScope(access, ADMIN) && paused,
    adjust: hasScope(access, ADMIN),
    cancel: hasScope(access, ADMIN),
    retry: hasScope(access, ADMIN),
    delete: hasScope(access, ADMIN),
  };
  return QUEUE_ACTIONS.filter((action) => can[action]);
}

/** @param declared the concurrency of its handler; null if that is not here */
function settingsOf(declared: number | null, row: QueueRow): Queue["settings"] {
  const { declaredRate, setRate, setConcurrency, declaredTotal, setTotal } = row;
  const limits = [declaredRate, setRate ?? declaredRate].map((rate) => rate && rateLimitOf(rate));
  return {
    concurrency: { declared, now: setConcurrency ?? declared },
    total: { declared: declaredTotal, now: setTotal ?? declaredTotal },
    rate: { declared: limits[0] ?? null, now: limits[1] ?? null },
  };
}

const thousandth = (value: number): number => Math.round(value * 1000) / 1000;

function documentOf(ctx: Context, api: Api, row: QueueRow): Queue {
  const { snapshot } = row;
  const { queue } = snapshot;
  const meanMs = meanOfEnded(snapshot);
  // The handler of another process has its own settings, and an orphaned queue has none.
  const handler = api.handlers.get(queue) ?? api.ownHandlers.get(queue);
  return {
    name: queue,
    description: handler?.description ?? null,
    own: isInternalQueue(queue),
    orphaned: api.engine.queues.isOrphaned(row),
    paused: snapshot.paused,
    waiting: snapshot.waiting,
    scheduled: snapshot.scheduled,
    held: snapshot.startable === undefined ? null : Math.max(0, snapshot.waiting - snapshot.startable),
    maxWaiting: api.engine.queues.settings(queue).maxWaiting,
    running: snapshot.running,
    dead: row.dead,
    workers: snapshot.workers,
    slots: snapshot.slots,
    oldestWaitingSeconds: row.oldestWaitingMs === null ? null : thousandth(row.oldestWaitingMs / 1000),
    serviceTime: {
      mean: meanMs === null ? null : thousandth(meanMs / 1000),
      samples: snapshot.samples,
    },
    rate: {
      accepted: thousandth(row.acceptedLastMinute / 60),
      finished: thousandth(row.finishedLastMinute / 60),
      failed: thousandth(row.failedLastMinute / 60),
    },
    eta: estimate(snapshot, { state: "waiting", index: row.newcomerIndex }, Date.now()),
    order: handler?.fair ? "fair" : "arrival",
    limit: handler?.limit ? { waiting: handler.limit.waiting ?? null, running: handler.limit.running ?? null } : null,
    resting: row.rest && {
      since: timestamp(row.rest.sinceMs),
      reason: row.rest.reason,
      nextProbe: timestamp(row.rest.untilMs),
    },
    slotsWanted:
      row.longestTurnMs !== null && handler?.targetWaitMs === undefined
        ? null
        : slotsWanted(row, handler?.targetWaitMs),
    settings: settingsOf(
      row.longestTurnMs === null ? (api.engine.queues.own.get(queue)?.concurrency ?? null) : null,
      row,
    ),
    turns:
      row.longestTurnMs === null
        ? null
        : { longest: row.longestTurnMs / 1000 || null, door: handler?.turns?.all === false },
    // What has a way in of its own takes no inputs.
    consumes: takesInputs(handler) ? handler.consumes : [],
    input: takesInputs(handler) ? inputJsonSchema(handler) : null,
    actions: actionsOf(accessOf(ctx), api.handlers.get(queue), snapshot.paused),
  };
}

async function adjust(ctx: Context, api: Api): Promise<void> {
  const queue = shownQueue(api, ctx.params.queue);
  const body = await readJson(ctx.req, adjustBody, api.maxBodyBytes);
  const { rate } = body;
  const { queues, events } = api.engine;
  const own = queues.own.get(queue);
  const [row] = await queues.figures([queue]);
  const slots = slotsOf(body, { areTurns: row?.longestTurnMs !== null, hasTotal: row?.setTotal !== null });
  // Slots belong to worker processes that have its handler.
  if (slots.concurrency !== undefined && !own?.concurrency) {
    throw wrongParameter("concurrency", own?.turns ? TOTAL_ONLY : "no worker process runs the handler of this queue");
  }
  await queues.adjust(queue, { ...slots, rate: rate && { max: rate.max, perMs: parseDuration(rate.per) ?? 0 } });
  logAction(ctx, api, "adjust", { queue, ...body });
  await events.note({ kind: "settings-changed", queue, ...byOf(ctx), detail: detailOf(body) });
  ctx.body = await queueDocument(ctx, api, queue);
}

function byOf(ctx: Context): { by?: string } {
  const { caller } = accessOf(ctx);
  return caller === null ? {} : { by: caller };
}

const TOTAL_ONLY = "a queue of turns has no workers: expected a number, or { total }";

/** What a body sets: of each worker process, and over all; null takes back both, of which one may not exist. */
function slotsOf(
  { concurrency }: AdjustBody,
  { areTurns, hasTotal }: { readonly areTurns: boolean; readonly hasTotal: boolean },
): Pick<Adjustment, "concurrency" | "total"> {
  if (concurrency === undefined) return {};
  if (typeof concurrency === "object" && concurrency !== null)
    return { concurrency: concurrency.each, total: concurrency.total };
  if (areTurns) return { total: concurrency };
  return { concurrency, ...(concurrency === null && hasTotal && { total: null }) };
}

/** What was set, for people. */
function detailOf({ concurrency, rate }: AdjustBody): string {
  const words: string[] = [];
  const slots = typeof concurrency === "object" && concurrency !== null ? concurrency : { each: concurrency };
  for (const [name, value] of Object.entries(slots)) {
    if (value !== undefined) words.push(`${name === "total" ? "total" : "concurrency"} ${value ?? "as declared"}`);
  }
  if (rate !== undefined) words.push(`rate ${rate ? `${rate.max}/${rate.per}` : "as declared"}`);
  return words.join(", ");
}

/** Pauses or resumes a queue; running tasks continue. Idempotent. */
async function pause(ctx: Context, api: Api, paused: boolean): Promise<void> {
  const queue = shownQueue(api, ctx.params.queue ?? "");
  await api.engine.queues.pause(queue, paused);
  await api.engine.events.paused(queue, paused, accessOf(ctx).caller);
  logAction(ctx, api, paused ? "pause" : "resume", { queue });
  ctx.body = await queueDocument(ctx, api, queue);
}
