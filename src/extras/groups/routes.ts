import type { Context } from "koa";
import { longestPauseS } from "../../engine/watch/inspect.ts";
import { Watchers } from "../../engine/watch/watchers.ts";
import { messageOf, ProblemError } from "../../errors.ts";
import type { Api } from "../../http/api.ts";
import { logAction } from "../../http/audit-log.ts";
import { groupRetryAfterS, setRetryAfter } from "../../http/headers/retry-after.ts";
import { parameterRefs } from "../../http/openapi/parameters.ts";
import { empty, headerRefs, json, responseRef, schemaRef } from "../../http/openapi/responses.ts";
import { prefersEvents, prefersHtml } from "../../http/request/accept.ts";
import { accessOf, forbidden, keepsPresent, mayEnd, maySee } from "../../http/request/access.ts";
import { isAny, namesVersion, replyIfNotModified } from "../../http/request/etag.ts";
import { PARAMETERS, searchOf } from "../../http/request/parameters.ts";
import { parsePrefer } from "../../http/request/prefer.ts";
import { type Route, SUBMIT, WATCH } from "../../http/route.ts";
import { longPoll, whenGone } from "../../http/server/long-poll.ts";
import { isAnsweredWithoutEvents, LINES, lastEventId } from "../../http/server/streams.ts";
import { checkTag, readPreconditions } from "../../http/task/preconditions.ts";
import { unknownTask } from "../../http/task/reply.ts";
import { isId } from "../../task.ts";
import { timestamp } from "../../wire/document.ts";
import { readParameter } from "../../wire/request.ts";
import { replyGroupPage } from "../pages/group-page.ts";
import { replyMissingPage } from "../pages/task-page.ts";
import { GROUP_PATHS, groupDocumentOf, groupLinksFor, groupVersion, hasEnded } from "./group-document.ts";
import { followGroup, type GroupWatchers, watchedGroups } from "./group-events.ts";
import { failuresOf } from "./group-failures.ts";
import type { GroupInspection } from "./group-inspection.ts";
import { groupResults } from "./group-results.ts";
import { groupsOf } from "./groups.ts";

const PENDING_HEADERS = ["ETag", "Preference-Applied", "Retry-After", "Location"] as const;

/** Groups of tasks: one number for many. A batch with the parameter `group` makes one. */
export function groupRoutes(api: Api): readonly Route[] {
  const watchers: GroupWatchers = new Watchers(watchedGroups(api.engine, groupsOf(api.engine)), {
    onError: (error) => api.log.debug({ err: error }, "groups: could not read the watched groups; trying again later"),
  });
  return [
    {
      name: "group",
      method: "GET",
      path: GROUP_PATHS.group,
      scopes: WATCH,
      signedLink: "group",
      tag: "Groups",
      summary: "How many tasks of a group are where, the place of the last, and when all will have ended",
      description: "Its events if `Accept` prefers text/event-stream, an HTML page if it prefers text/html.",
      parameters: parameterRefs("If-None-Match", "Prefer-wait"),
      answers: {
        default: responseRef("ProblemOrPage"),
        "200": {
          description: "The group is done or canceled. Or its events.",
          headers: headerRefs("ETag", "Preference-Applied"),
          content: { "application/json": { schema: schemaRef("Group") }, "text/html": {}, "text/event-stream": {} },
        },
        "202": {
          description: "Some of its tasks have not ended, or it is open.",
          headers: headerRefs(...PENDING_HEADERS),
          content: { "application/json": { schema: schemaRef("Group") }, "text/html": {} },
        },
        "204": empty("Of its events, the caller has already received the last."),
        "304": empty("The caller has the current version of the document.", ...PENDING_HEADERS),
      },
      run: (ctx) => show(ctx, api, watchers),
      showProblem: (ctx, error) => replyMissingPage(ctx, error, api.embedOrigins),
    },
    {
      name: "groupEvents",
      method: "GET",
      path: GROUP_PATHS.events,
      scopes: WATCH,
      signedLink: "group",
      tag: "Groups",
      summary: "A group as Server-Sent Events",
      description:
        "`event: status` at once and on every change, at most twice a second, finally `event: done`. The data is the document of the group.",
      parameters: parameterRefs("Last-Event-ID", "lastEventId"),
      answers: {
        "200": { description: "Events until the group has ended.", content: { "text/event-stream": {} } },
        "204": empty("The caller has already received the last event."),
      },
      run: async (ctx) => follow(ctx, api, watchers, await findGroup(ctx, api, ctx.params.id)),
    },
    {
      name: "groupResults",
      method: "GET",
      path: GROUP_PATHS.results,
      scopes: WATCH,
      signedLink: "group",
      tag: "Groups",
      summary: "The results of a group",
      description:
        "A line for each task that has ended, in the order of submission; with `follow=true` then each as it ends, until all have. A response that broke off goes on with `after`.",
      parameters: parameterRefs("follow", "afterLine"),
      answers: {
        "200": {
          description: "The results.",
          content: { "application/x-ndjson": { schema: schemaRef("GroupResult") } },
        },
      },
      run: (ctx) => results(ctx, api, watchers),
    },
    {
      name: "cancelGroup",
      method: "DELETE",
      path: GROUP_PATHS.group,
      scopes: SUBMIT,
      tag: "Groups",
      summary: "Cancel all tasks of a group that have not ended",
      description: "It takes no more tasks. Results of tasks that have ended are kept.",
      parameters: parameterRefs("If-Match"),
      answers: {
        "202": json("Its tasks are being canceled, or asked to stop where they run.", "Group"),
        "204": empty("It had ended."),
      },
      run: (ctx) => cancel(ctx, api, ctx.params.id),
    },
  ];
}

/**
 * Reads a group for a caller: one that the caller may not see is treated like an unknown one, as with tasks.
 * @throws ProblemError unknown, expired, store-unavailable
 */
async function findGroup(
  ctx: Pick<Context, "state">,
  { engine }: Pick<Api, "engine">,
  id: string,
): Promise<GroupInspection> {
  const access = accessOf(ctx);
  const seen = isId(id) ? await groupsOf(engine).inspect(id, { attends: (seen) => keepsPresent(access, seen) }) : null;
  if (!seen || !maySee(access, seen)) throw access.link?.otherwise ?? unknownTask(id.slice(0, 128));
  if (!seen.expired) return seen;
  const { queue, state, finishedMs, expiresMs } = seen;
  throw new ProblemError("expired", undefined, {
    extensions: { id, queue, state, finishedAt: timestamp(finishedMs), expiredAt: timestamp(expiresMs) },
  });
}

async function show(ctx: Context, api: Api, watchers: GroupWatchers): Promise<void> {
  ctx.vary("Accept");
  const { id } = ctx.params;
  const first = await findGroup(ctx, api, id);
  if (prefersHtml(ctx.get("Accept"))) {
    const cancel = mayEnd(accessOf(ctx), first) ? groupLinksFor(ctx, first).cancel : "";
    return replyGroupPage(ctx, groupDocumentOf(ctx, first), { cancel, failures: await failuresOf(ctx, api, first) });
  }
  if (prefersEvents(ctx.get("Accept"))) return await follow(ctx, api, watchers, first);
  replyGroup(ctx, (await untilChanged(ctx, api, watchers, first)) ? await findGroup(ctx, api, id) : first);
}

/** Answers with the document, or with 304 if the caller has it. */
function replyGroup(ctx: Context, seen: GroupInspection): void {
  ctx.set("ETag", tagOf(seen));
  if (!hasEnded(seen)) {
    setRetryAfter(ctx, Math.min(groupRetryAfterS(seen.eta), longestPauseS(seen.presenceMs)));
    ctx.set("Location", groupLinksFor(ctx, seen).group);
  }
  ctx.status = hasEnded(seen) ? 200 : 202;
  ctx.body = groupDocumentOf(ctx, seen);
  replyIfNotModified(ctx);
}

/** The ETag is weak, since the estimate may change while it stays the same. */
const tagOf = (seen: GroupInspection): string => `W/"${groupVersion(seen)}"`;

/**
 * A conditional long poll: with If-None-Match and `Prefer: wait=N`, waits at most N seconds while the group still has a version that the caller
 * has. Returns whether it has waited.
 */
async function untilChanged(ctx: Context, api: Api, watchers: GroupWatchers, first: GroupInspection): Promise<boolean> {
  const condition = ctx.get("If-None-Match");
  const { wait = 0, waitAsSent } = parsePrefer(ctx.get("Prefer"));
  const ms = Math.min(wait * 1000, api.syncLimitMs);
  if (condition === "" || isAny(condition) || waitAsSent === undefined || ms <= 0) return false;
  const ready = (seen: GroupInspection | null) => seen === null || !namesVersion(condition, tagOf(seen));
  if (ready(first)) return false;
  const keeps = keepsPresent(accessOf(ctx), first);
  await longPoll(ctx, api, { watch: () => watchers.watch(first, { keeps }), ms, ready });
  ctx.set("Preference-Applied", waitAsSent);
  return true;
}

async function follow(ctx: Context, api: Api, watchers: GroupWatchers, seen: GroupInspection): Promise<void> {
  const known = lastEventId(ctx);
  if (isAnsweredWithoutEvents(ctx, hasEnded(seen) && known === groupVersion(seen))) return;
  api.streams.add(ctx);
  await followGroup(ctx, api, watchers, seen);
}

async function results(ctx: Context, api: Api, watchers: GroupWatchers): Promise<void> {
  const search = searchOf(ctx);
  const follows = readParameter(search, PARAMETERS.follow);
  const after = readParameter(search, PARAMETERS.afterLine) ?? 0;
  const group = await findGroup(ctx, api, ctx.params.id);
  if (ctx.method === "HEAD") {
    ctx.status = 200;
    ctx.set(LINES.headers);
    return;
  }
  api.streams.add(ctx);
  const gone = new AbortController();
  const { res } = ctx;
  whenGone(ctx, api, () => {
    gone.abort();
    res.destroy();
  });
  const parts = groupResults({
    ...{ ctx: { state: ctx.state }, api, group, after },
    watchers: follows ? watchers : undefined,
    gone: gone.signal,
  });
  const onError = (error: unknown) =>
    api.log.debug(
      { group: group.id, reason: messageOf(error) },
      "groups: could not read results; breaking the response off",
    );
  // What does not follow has an end, for which a stopping server waits.
  api.streams.send(ctx, LINES, { parts, onError, ...(!follows && { onStop: () => undefined }) });
}

async function cancel(ctx: Context, api: Api, id: string): Promise<void> {
  const conditions = readPreconditions(ctx);
  const before = await findGroup(ctx, api, id);
  const access = accessOf(ctx);
  if (!mayEnd(access, before)) throw forbidden(["admin"]);
  if (conditions) checkTag(id, conditions, tagOf(before));
  const verdict = hasEnded(before) ? "ended" : await groupsOf(api.engine).cancel(id, before.queue);
  if (verdict === "unknown") throw unknownTask(id);
  if (verdict === "ended") {
    ctx.status = 204;
    return;
  }
  if (access.key === "off" || access.caller !== before.caller)
    logAction(ctx, api, "cancel-group", { queue: before.queue, id });
  ctx.status = 202;
  ctx.body = groupDocumentOf(ctx, await findGroup(ctx, api, id));
}
