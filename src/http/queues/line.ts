import type { Context } from "koa";
import type { Page, PageRequest } from "../../engine/watch/pages.ts";
import type { Index } from "../../store/keys.ts";
import type { Entry } from "../../store/verbs/page.ts";
import type { State } from "../../task.ts";
import { LISTED } from "../../task-record.ts";
import type { Page as WirePage } from "../../wire/page.ts";
import { oneParameter, readParameter } from "../../wire/parameter.ts";
import type { ListedTask } from "../../wire/task.ts";
import type { Api } from "../api.ts";
import { logAction } from "../audit-log.ts";
import { PARAMETERS, searchOf } from "../input/parameters.ts";
import { untilGone } from "../live/long-poll.ts";
import { parameterRefs } from "../openapi/parameters.ts";
import { json } from "../openapi/responses.ts";
import { ADMIN, READ, type Route } from "../route.ts";
import { accessOf } from "../task/access.ts";
import { documentOf, membersOf, WITH_PROBLEM } from "../task/documents/monitor-document.ts";
import { cursorOf, readCursor } from "./cursor.ts";
import { LISTS, type ListName, readFilter } from "./list-filter.ts";
import { shownQueue } from "./named-queue.ts";
import { queueDocument } from "./queues.ts";

/** The maximum number of entries searched for one page of those that match a filter. */
const MAX_LOOKED_AT = 10_000;

/** The index of each list. */
const INDEX = {
  waiting: "waiting",
  running: "leases",
  scheduled: "scheduled",
  dead: "dead",
} as const satisfies Readonly<Record<Exclude<ListName, "finished">, Index>>;

/** The tasks of a queue, and whether it is paused. */
export function lineRoutes(api: Api): readonly Route[] {
  const listRoute = (name: ListName, summary: string, order: string): Route => ({
    ...{ name, method: "GET", path: `/v1/queues/:queue/${name}`, scopes: READ },
    ...{ tag: name === "dead" ? "Dead letters" : "Queues", summary },
    description:
      `At most about ${MAX_LOOKED_AT} entries are searched for a page, so a page with a filter may have few items or none: continue ` +
      "as long as there is a `next`.",
    parameters: parameterRefs(...PAGE_PARAMETERS, ...(name === "dead" ? (["deadOrder"] as const) : [])),
    answers: { "200": json(`A page, ${order}.`, name === "dead" ? "DeadTaskPage" : "TaskPage") },
    run: (ctx) => list(ctx, api, name),
  });
  const pauseRoute = (name: "pause" | "resume", summary: string): Route => ({
    ...{ name, method: "POST", path: `/v1/queues/:queue/${name}`, scopes: ADMIN },
    ...{ tag: "Queues", summary, answers: { "200": json("Done.", "Queue") } },
    run: (ctx) => pause(ctx, api, name === "pause"),
  });
  return [
    listRoute("waiting", "Waiting tasks", "in line order"),
    listRoute("running", "Running tasks", "ordered by the ends of their leases"),
    listRoute("scheduled", "Scheduled and retrying tasks", "ordered by when they are due"),
    listRoute("dead", "Dead tasks", "oldest first, or newest first"),
    listRoute("finished", "The latest outcomes: at most 1,000 are kept for each queue", "newest first"),
    pauseRoute("pause", "Pause: start no more tasks"),
    pauseRoute("resume", "Resume: start tasks again"),
  ];
}

const PAGE_PARAMETERS = [
  "limit",
  "cursor",
  "idPrefix",
  "ofText",
  "ofCaller",
  "ofKey",
  "inState",
  "withError",
  "olderThan",
] as const;

/** Reads a page of a list. @throws ProblemError store-unavailable */
export function pageOfList(api: Api, name: ListName, request: PageRequest): Promise<Page> {
  return name === "finished" ? api.engine.queues.finished(request) : api.engine.queues.page(INDEX[name], request);
}

/** Which page a request asks for. @throws ProblemError unknown-queue, invalid-parameter */
function readPage(ctx: Context, api: Api, name: ListName): PageRequest {
  const queue = shownQueue(api, ctx.params.queue ?? "");
  const search = searchOf(ctx);
  const limit = readParameter(search, PARAMETERS.limit);
  const cursor = oneParameter(search, "cursor");
  const isNewestFirst = name === "dead" && readParameter(search, PARAMETERS.deadOrder) === "newest";
  const after = cursor === null ? null : readCursor(cursor);
  return { queue, after, limit, isNewestFirst, filter: readFilter(ctx, name) };
}

/** Fills a page with the tasks that match a filter, step by step, within a limit of entries that are read. */
export async function filledPage(
  ctx: Context,
  api: Api,
  name: ListName,
  request: PageRequest,
  maxLooked: number,
): Promise<Page> {
  let page = await pageOfList(api, name, request);
  const gone = untilGone(ctx, api);
  while (page.next && page.entries.length < request.limit && page.looked < maxLooked && !gone.aborted) {
    const limit = request.limit - page.entries.length;
    const more = await pageOfList(api, name, { ...request, after: page.next, limit });
    page = { ...more, entries: [...page.entries, ...more.entries], looked: page.looked + more.looked };
  }
  return page;
}

async function list(ctx: Context, api: Api, name: ListName): Promise<void> {
  const request = readPage(ctx, api, name);
  const filled = () => filledPage(ctx, api, name, request, MAX_LOOKED_AT);
  const { entries, next, looked } = await (request.filter
    ? api.engine.scans.run(filled)
    : pageOfList(api, name, request));
  const items = await Promise.all(entries.map((entry) => itemOf(ctx, api, name, entry)));
  ctx.body = { items: items.flat(), next: next && cursorOf(next), scanned: looked } satisfies WirePage<ListedTask>;
}

/** A task of a list; null if it has left the list since the list was read. */
export async function itemOf(ctx: Context, api: Api, name: ListName, entry: Entry): Promise<ListedTask[]> {
  const { engine } = api;
  let task = await engine.inspector.inspect(entry.id, name === "dead" ? WITH_PROBLEM : { result: false });
  if (name === "finished" && task?.state === "failed") task = await engine.inspector.inspect(entry.id, WITH_PROBLEM);
  const states: readonly State[] = LISTS[name];
  if (!task || !states.includes(task.state)) return [];
  // A later task may have got the id of one that has ended.
  if ((name === "finished" || name === "dead") && task.finishedMs !== Number(entry.score)) return [];
  if (name === "finished" && task.deleted) return [];
  return [
    {
      ...documentOf(ctx, api, task),
      ...membersOf(LISTED, task),
      ...(name === "dead" && { errors: task.errors }),
    },
  ];
}

/** Pauses or resumes a queue; running tasks continue. Idempotent. */
async function pause(ctx: Context, api: Api, paused: boolean): Promise<void> {
  const queue = shownQueue(api, ctx.params.queue ?? "");
  await api.engine.queues.pause(queue, paused);
  await api.engine.events.paused(queue, paused, accessOf(ctx).caller);
  logAction(ctx, api, paused ? "pause" : "resume", { queue });
  ctx.body = await queueDocument(ctx, api, queue);
}
