import type { Context } from "koa";
import type { PageRequest } from "../../engine/watch/pages.ts";
import { ID_FORM } from "../../task.ts";
import { LISTED } from "../../task-record.ts";
import { FILTER_PARAMETERS, type ListName } from "../../wire/list-filter.ts";
import { readParameter, wrongParameter } from "../../wire/request.ts";
import type { ListedTask, Search } from "../../wire/task.ts";
import type { Api } from "../api.ts";
import { parameterRefs } from "../openapi/parameters.ts";
import { json } from "../openapi/responses.ts";
import { searchOf } from "../request/parameters.ts";
import { READ, type Route } from "../route.ts";
import { untilGone } from "../server/long-poll.ts";
import { documentOf, membersOf } from "../task/task-document.ts";
import { filterOf, itemOf, pageOfList } from "./lists.ts";

/** The most tasks found, and the number of entries of lists after which no more is searched. */
const MAX = { found: 50, lookedAt: 10_000 } as const;
/** A list counts as this many entries more, so that many short lists end a search as well. */
const LIST_COST = 10;

/** A list, and how far it has been searched. */
interface Searched {
  readonly name: ListName;
  readonly queue: string;
  readonly after: PageRequest["after"];
}

/** Finds tasks of all queues. */
export const searchRoutes = (api: Api): readonly Route[] => [
  {
    ...{ name: "search", method: "GET", path: "/v1/search", scopes: READ, tag: "Queues" },
    summary: "Tasks of all queues by a part of their ids, labels or line keys",
    description: `A task with exactly this id comes first. Each list of each queue is searched from its beginning; after about ${MAX.lookedAt} entries, or ${MAX.found} tasks, no more is searched. Requests that search take turns.`,
    parameters: parameterRefs("ofText"),
    answers: { "200": json("What was found.", "Search") },
    run: (ctx) => api.engine.scans.run(() => search(ctx, api)),
  },
];

async function search(ctx: Context, api: Api): Promise<void> {
  const text = readParameter(searchOf(ctx), FILTER_PARAMETERS.ofText);
  if (text === null) throw wrongParameter("text", FILTER_PARAMETERS.ofText.expected);
  const filter = filterOf({ text });
  const known = await exactly(ctx, api, text);
  const found = new Map<string, ListedTask>(known ? [[known.id, known]] : []);
  let scanned = 0;
  let spent = 0;
  const open = await listsOf(api);
  const gone = untilGone(ctx, api);
  while (found.size < MAX.found && spent < MAX.lookedAt && !gone.aborted) {
    const list = open.shift();
    if (!list) break;
    const { entries, looked, next } = await pageOfList(api, list.name, { ...list, limit: MAX.found, filter });
    scanned += looked;
    spent += looked + LIST_COST;
    // The rest of it after the beginnings of all others.
    if (next) open.push({ ...list, after: next });
    const items = await Promise.all(entries.map((entry) => itemOf(ctx, api, list.name, entry)));
    for (const item of items.flat()) found.set(item.id, item);
  }
  const items = [...found.values()];
  const complete = open.length === 0 && items.length <= MAX.found;
  ctx.body = { items: items.slice(0, MAX.found), scanned, complete } satisfies Search;
}

/** The task of this id, in whatever state, unless it is deleted. */
async function exactly(ctx: Context, api: Api, id: string): Promise<ListedTask | undefined> {
  const task = ID_FORM.test(id) ? await api.engine.inspector.inspect(id, { result: false }) : null;
  return task && !task.deleted ? { ...documentOf(ctx, api, task), ...membersOf(LISTED, task) } : undefined;
}

/** The lists that have tasks: what runs and waits before what has ended. */
async function listsOf(api: Api): Promise<Searched[]> {
  const figures = await api.engine.queues.allFigures();
  const names: readonly ListName[] = ["running", "waiting", "scheduled", "dead", "finished"];
  return names.flatMap((name) =>
    figures
      .filter(({ snapshot, dead }) => name === "finished" || (name === "dead" ? dead : snapshot[name]) > 0)
      .map(({ snapshot: { queue } }) => ({ name, queue, after: null })),
  );
}
