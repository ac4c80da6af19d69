import type { Context } from "koa";
import { nameOf } from "../../engine/tasks/submission.ts";
import type { Page, PageRequest } from "../../engine/watch/pages.ts";
import type { Index } from "../../store/keys.ts";
import type { Entry, Filter, Place } from "../../store/line/page.ts";
import { STATES, type State } from "../../task.ts";
import { LISTED } from "../../task-record.ts";
import type { Page as WirePage } from "../../wire/document.ts";
import { FILTER_PARAMETERS, inState, LISTS, type ListName } from "../../wire/list-filter.ts";
import { oneParameter, type Parameter, readParameter, wrongParameter } from "../../wire/request.ts";
import type { ListedTask } from "../../wire/task.ts";
import type { Api } from "../api.ts";
import { parameterRefs } from "../openapi/parameters.ts";
import { json } from "../openapi/responses.ts";
import { PARAMETERS, searchOf } from "../request/parameters.ts";
import { shownQueue } from "../request/queue.ts";
import { READ, type Route } from "../route.ts";
import { untilGone } from "../server/long-poll.ts";
import { documentOf, membersOf, WITH_PROBLEM } from "../task/task-document.ts";

/** The maximum number of entries searched for one page of those that match a filter. */
const MAX_LOOKED_AT = 10_000;

/** The index of each list. */
const INDEX = {
  waiting: "waiting",
  running: "leases",
  scheduled: "scheduled",
  dead: "dead",
} as const satisfies Readonly<Record<Exclude<ListName, "finished">, Index>>;

/** The tasks of a queue, in lists. */
export function listRoutes(api: Api): readonly Route[] {
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
  return [
    listRoute("waiting", "Waiting tasks", "in line order"),
    listRoute("running", "Running tasks", "ordered by the ends of their leases"),
    listRoute("scheduled", "Scheduled and retrying tasks", "ordered by when they are due"),
    listRoute("dead", "Dead tasks", "oldest first, or newest first"),
    listRoute("finished", "The latest outcomes: at most 1,000 are kept for each queue", "newest first"),
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

/** A task of a list; none if it has left the list since the list was read. */
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

/** Reads the filter of a request for a list. @throws ProblemError invalid-parameter */
function readFilter(ctx: Context, list: ListName): Filter | undefined {
  const search = searchOf(ctx);
  const read = <T>(parameter: Parameter<T>): T | undefined => readParameter(search, parameter) ?? undefined;
  const { idPrefix, ofCaller, ofKey, ofText, withError, olderThan } = FILTER_PARAMETERS;
  return filterOf({
    idPrefix: read(idPrefix),
    caller: read(ofCaller),
    key: read(ofKey),
    text: read(ofText),
    state: read(inState(LISTS[list])),
    error: read(withError),
    olderThan: read(olderThan),
  });
}

/** What a caller may filter by; a member left out matches everything. */
interface AskedFilter {
  readonly idPrefix?: string | undefined;
  readonly caller?: string | undefined;
  readonly key?: string | undefined;
  /** A part of the id, the label or the line key. */
  readonly text?: string | undefined;
  readonly state?: string | undefined;
  readonly error?: string | undefined;
  /** The minimum time since submission, s. */
  readonly olderThan?: number | undefined;
}

/** The digest of a long line key, as lists show it: only the digest is stored. */
const DIGEST = /^#[0-9a-f]{32}$/;

/** The same filter for the engine; undefined if it matches everything. */
export function filterOf({ idPrefix, caller, key, text, state, error, olderThan }: AskedFilter): Filter | undefined {
  const filter: Filter = {
    prefix: idPrefix,
    text,
    caller,
    key: key === undefined || DIGEST.test(key) ? key : nameOf(key),
    states: state === undefined ? undefined : STATES.filter((known) => known === state),
    error,
    ageMs: olderThan === undefined ? undefined : Math.round(olderThan * 1000),
  };
  return Object.values(filter).every((value) => value === undefined) ? undefined : filter;
}

/** A score as Redis writes it, a space, and an id; ids of the server's own tasks contain colons. */
const FORM = /^(-?\d{1,17}(?:\.\d{1,6})?) ([A-Za-z0-9][A-Za-z0-9._~:-]{0,299})$/;

/** The cursor of the next page: an opaque form of the last place. */
export function cursorOf({ score, id }: Place): string {
  return Buffer.from(`${score} ${id}`).toString("base64url");
}

/** The place in a cursor. @throws ProblemError invalid-parameter */
export function readCursor(cursor: string): Place {
  const [, score, id] = FORM.exec(Buffer.from(cursor, "base64url").toString("latin1")) ?? [];
  const place = score !== undefined && id !== undefined ? { score, id } : null;
  // The decoder ignores invalid characters, so the cursor must be exactly as we would write it.
  if (place === null || cursorOf(place) !== cursor) {
    throw wrongParameter("cursor", "expected the `next` of another page");
  }
  return place;
}
