import type { Context } from "koa";
import type { Inspection } from "../../engine/watch/inspect.ts";
import type { Watchers } from "../../engine/watch/watchers.ts";
import { isOutcome } from "../../task.ts";
import { type Parameter, readParameter } from "../../wire/request.ts";
import type { Api } from "../api.ts";
import { setRetryAfter } from "../headers/retry-after.ts";
import { parameterRefs } from "../openapi/parameters.ts";
import { empty, headerRefs, PENDING_HEADERS, RESULTS, schemaRef } from "../openapi/responses.ts";
import { prefersHtml } from "../request/accept.ts";
import { accessOf, keepsPresent } from "../request/access.ts";
import { isAny, namesVersion, replyIfNotModified, versionTag } from "../request/etag.ts";
import { PARAMETERS, searchOf } from "../request/parameters.ts";
import { parsePrefer } from "../request/prefer.ts";
import { type Route, WATCH } from "../route.ts";
import { longPoll } from "../server/long-poll.ts";
import { findTask, observe } from "./find.ts";
import { linksFor, rawLink, TASK_PATHS } from "./links.ts";
import { type Pages, pagesFor, shownTask } from "./pages.ts";
import { pendingTask, replyOutcome, replyPending } from "./reply.ts";
import { documentOf } from "./task-document.ts";

/** The monitor: state, place in line, progress and estimate of a task. */
export function monitorRoutes(api: Api, watchers: Watchers, pages: Pages | undefined): readonly Route[] {
  const route = (name: string, path: string, summary: string): Route => ({
    ...{ name, method: "GET", path, scopes: WATCH, signedLink: "task" },
    ...{ tag: "Watch", summary, description: "An HTML page if `Accept` prefers text/html." },
    parameters: parameterRefs(
      ...(["onComplete", "onPending"] as const),
      ...(pages ? (["embed"] as const) : []),
      ...(["If-None-Match", "Prefer-wait"] as const),
    ),
    answers: {
      ...RESULTS,
      "200": {
        description: "The task has ended. With `onComplete=stream`: its result.",
        headers: headerRefs("ETag", "Preference-Applied", "Expires", "X-Task-State"),
        content: { "application/json": { schema: {} }, "text/html": {}, "*/*": {} },
      },
      "202": {
        description: "The task is pending.",
        headers: headerRefs("ETag", "Preference-Applied", ...PENDING_HEADERS),
        content: {
          "application/json": { schema: { anyOf: [schemaRef("Task"), schemaRef("Pending")] } },
          "text/html": {},
        },
      },
      "303": empty("The task has ended: its result is at Location.", "Location"),
      "304": empty(
        "The caller has the current version of the document.",
        ...(["ETag", "Preference-Applied", "Retry-After", "Location"] as const),
      ),
    },
    run: (ctx) => monitor(ctx, api, { watchers, pages: pagesFor(ctx, pages) }, ctx.params.id),
    showProblem: (ctx, error) => pages?.missing(ctx, error, api.embedOrigins) ?? false,
  });
  return [
    route("watch", TASK_PATHS.monitor, "State, place in line, progress and estimate"),
    route("watchQueue", "/v1/queue/requests/:id", "The same monitor at another path"),
  ];
}

async function monitor(
  ctx: Context,
  api: Api,
  { watchers, pages }: { readonly watchers: Watchers; readonly pages: Pages | undefined },
  id: string,
): Promise<void> {
  ctx.vary("Accept");
  const options = readOptions(searchOf(ctx));
  if (pages) return showPage(ctx, api, pages, id, options);
  if (options.onPending === "synchronous") await untilDone(ctx, api, watchers, id);
  else await untilChanged(ctx, api, watchers, id);
  const seen = await observe(ctx, api, id);
  if (isOutcome(seen.state) && options.onComplete !== null) return complete(ctx, api, seen, options);
  if (!isOutcome(seen.state) && options.onPending === "synchronous") {
    return replyPending(ctx, pendingTask(seen), api.pendingStatus);
  }
  replyDocument(ctx, api, seen);
}

/** The options in the query; names and values are case-insensitive. @throws ProblemError invalid-parameter that names the parameter */
function readOptions(search: URLSearchParams) {
  const read = <T, Absent>(parameter: Parameter<T, Absent>): T | Absent => {
    const { name } = parameter;
    const own = new URLSearchParams();
    for (const [key, value] of search)
      if (key.toLowerCase() === name.toLowerCase()) own.append(name, value.toLowerCase());
    return readParameter(own, parameter);
  };
  const { onComplete, onPending, embed } = PARAMETERS;
  return { onComplete: read(onComplete), onPending: read(onPending), embed: read(embed) };
}

type MonitorOptions = ReturnType<typeof readOptions>;

/** Answers with the document, or with 304 if the caller has it. */
function replyDocument(ctx: Context, api: Api, seen: Inspection): void {
  ctx.set("ETag", versionTag(seen));
  if (!isOutcome(seen.state)) {
    setRetryAfter(ctx, pendingTask(seen).retryAfterS);
    ctx.set("Location", linksFor(ctx, seen).monitor);
  }
  ctx.status = isOutcome(seen.state) ? 200 : 202;
  ctx.body = documentOf(ctx, api, seen);
  replyIfNotModified(ctx);
}

/** Answers for a terminal task as `onComplete` asks. */
async function complete(ctx: Context, api: Api, seen: Inspection, { onComplete }: MonitorOptions): Promise<void> {
  if (onComplete === "redirect") {
    const { result } = linksFor(ctx, seen);
    ctx.set("Location", prefersHtml(ctx.get("Accept")) ? rawLink(result) : result);
    ctx.status = 303;
    ctx.body = "";
    return;
  }
  replyOutcome(ctx, await findTask(ctx, api, seen.id, { result: true, inPieces: true }));
}

/** Waits until the task has ended, at most for as long as a synchronous request may. */
async function untilDone(ctx: Context, api: Api, watchers: Watchers, id: string): Promise<void> {
  const isDone = (seen: Inspection | null) => seen === null || isOutcome(seen.state);
  const task = await observe(ctx, api, id);
  if (isDone(task)) return;
  await longPoll(ctx, api, { watch: watchOf(ctx, watchers, task), ms: api.syncLimitMs, ready: isDone });
}

/**
 * A conditional long poll: with If-None-Match and `Prefer: wait=N`, waits at most N seconds while the task still has a version
 * that the caller has. `*` matches every version, so there is no change to wait for.
 */
async function untilChanged(ctx: Context, api: Api, watchers: Watchers, id: string): Promise<void> {
  const condition = ctx.get("If-None-Match");
  const { wait = 0, waitAsSent } = parsePrefer(ctx.get("Prefer"));
  const ms = Math.min(wait * 1000, api.syncLimitMs);
  if (condition === "" || isAny(condition) || waitAsSent === undefined || ms <= 0) return;
  const isNew = (seen: Inspection | null) => seen === null || !namesVersion(condition, versionTag(seen));
  const task = await observe(ctx, api, id);
  if (isNew(task)) return;
  await longPoll(ctx, api, { watch: watchOf(ctx, watchers, task), ms, ready: isNew });
  ctx.set("Preference-Applied", waitAsSent);
}

/** How a long poll watches a task. */
function watchOf(ctx: Context, watchers: Watchers, task: Inspection) {
  return () => watchers.watch(task, { keeps: keepsPresent(accessOf(ctx), task) });
}

/** The HTML page for browsers. Errors are pages too: see `showProblem` of the route. */
async function showPage(ctx: Context, api: Api, pages: Pages, id: string, options: MonitorOptions): Promise<void> {
  const seen = await observe(ctx, api, id);
  if (isOutcome(seen.state) && options.onComplete !== null) return await complete(ctx, api, seen, options);
  const shown = shownTask(ctx, api, seen);
  if (!isOutcome(seen.state)) setRetryAfter(ctx, pendingTask(seen).retryAfterS);
  if (options.embed) pages.embedded(ctx, shown, api.embedOrigins);
  else pages.task(ctx, shown);
}
