import type { Context } from "koa";
import type { Inspection } from "../../engine/inspect.ts";
import type { PagedIndex, Place } from "../../store/scripts/scripts.ts";
import type { State } from "../../task.ts";
import type { Api } from "../api.ts";
import { cursorOf, readCursor } from "../input/cursor.ts";
import type { Endpoints } from "../routes.ts";
import { signatureOf } from "../task/access.ts";
import { type MonitorDocument, monitorDocument, PROBLEM_BYTES } from "../task/document.ts";
import { searchOf, wholeParameter, wrongParameter } from "../task/submit-options.ts";
import { queueDocument } from "./queues.ts";
import { shownHandlerOf } from "./submit.ts";

/** The default and the highest number of tasks in a page. */
export const PAGE = { default: 50, most: 200 } as const;

/** The lists of a queue, each with its index and the state of its tasks. */
const LISTS: Readonly<Record<"waiting" | "running" | "dead", { index: PagedIndex; state: State }>> = {
  waiting: { index: "waiting", state: "waiting" },
  running: { index: "leases", state: "running" },
  dead: { index: "dead", state: "failed" },
};

/** A task of a page; a dead one has the latest errors of its attempts, newest first. */
type Item = MonitorDocument & { readonly errors?: readonly string[] };

/** The tasks of a queue, and whether it is paused. */
export function lineEndpoints(api: Api): Endpoints<"waiting" | "running" | "dead" | "finished" | "pause" | "resume"> {
  return {
    waiting: (ctx) => page(ctx, api, "waiting"),
    running: (ctx) => page(ctx, api, "running"),
    dead: (ctx) => page(ctx, api, "dead"),
    finished: (ctx) => finished(ctx, api),
    pause: (ctx) => pause(ctx, api, true),
    resume: (ctx) => pause(ctx, api, false),
  };
}

/** Which page a request asks for. @throws PaihaoError unknown-queue, invalid-parameter */
function readPage(ctx: Context, api: Api): { queue: string; after: Place | null; limit: number } {
  const { queue } = shownHandlerOf(api, ctx.params.queue ?? "");
  const search = searchOf(ctx);
  const limit = wholeParameter(search, "limit") ?? PAGE.default;
  if (limit < 1 || limit > PAGE.most) throw wrongParameter("limit", `expected a whole number from 1 to ${PAGE.most}`);
  const [cursor, second] = search.getAll("cursor");
  if (second !== undefined) throw wrongParameter("cursor", "given more than once");
  return { queue, after: cursor === undefined ? null : readCursor(cursor), limit };
}

function replyPage(ctx: Context, items: readonly Item[], places: readonly Place[], limit: number): void {
  const last = places.at(-1);
  ctx.set("Cache-Control", "no-store");
  ctx.body = { items, next: last && places.length === limit ? cursorOf(last) : null };
}

async function page(ctx: Context, api: Api, list: keyof typeof LISTS): Promise<void> {
  const { engine } = api;
  const { queue, after, limit } = readPage(ctx, api);
  const { index, state } = LISTS[list];
  const places = await engine.page(index, queue, after, limit);
  // Only for dead tasks, whose result is the problem that is their error.
  const look = { result: list === "dead", mostBytes: PROBLEM_BYTES };
  const seen = await Promise.all(places.map(({ id }) => engine.inspect(id, look)));
  // A task that has left the list between the two reads is omitted.
  const items = seen.flatMap((task) => (task?.state === state ? [itemOf(ctx, api, task, look.result)] : []));
  replyPage(ctx, items, places, limit);
}

/** The latest outcomes, the newest first. */
async function finished(ctx: Context, api: Api): Promise<void> {
  const { engine } = api;
  const { queue, after, limit } = readPage(ctx, api);
  const places = await engine.finished(queue, after, limit);
  const seen = await Promise.all(
    places.map(async ({ id }) => {
      const task = await engine.inspect(id, { result: false });
      // Results can be large: only that of a failed task, a problem document, is read here.
      return task?.state === "failed" ? engine.inspect(id, { result: true, mostBytes: PROBLEM_BYTES }) : task;
    }),
  );
  // A task that has been run again or destroyed since is omitted.
  const items = seen.flatMap((task, i) =>
    task && !task.destroyed && task.finishedMs === Number(places[i]?.score) ? [itemOf(ctx, api, task, false)] : [],
  );
  replyPage(ctx, items, places, limit);
}

function itemOf(ctx: Context, api: Api, task: Inspection, errors: boolean): Item {
  const document = monitorDocument(task, api.engine.settings(task.queue).attempts, signatureOf(ctx, task));
  return errors ? { ...document, errors: task.errors } : document;
}

/** Pauses or resumes a queue; running tasks continue. Idempotent. */
async function pause(ctx: Context, api: Api, paused: boolean): Promise<void> {
  const handler = shownHandlerOf(api, ctx.params.queue ?? "");
  await api.engine.pause(handler.queue, paused);
  ctx.set("Cache-Control", "no-store");
  ctx.body = await queueDocument(api, handler);
}
