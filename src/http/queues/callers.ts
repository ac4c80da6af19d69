import type { Context } from "koa";
import type { Place } from "../../store/line/page.ts";
import type { ListName } from "../../wire/list-filter.ts";
import type { CallerCounts, Callers } from "../../wire/queue.ts";
import type { Api } from "../api.ts";
import { json } from "../openapi/responses.ts";
import { shownQueue } from "../request/queue.ts";
import { READ, type Route } from "../route.ts";
import { untilGone } from "../server/long-poll.ts";
import { pageOfList } from "./lists.ts";

/** How many entries of each list are looked at, and how many callers are told. */
const MAX = { lookedAt: 10_000, callers: 100 } as const;

/** The lists that are looked through, and what each entry of them counts as. */
const COUNTED: readonly { readonly list: ListName; readonly as: keyof Omit<CallerCounts, "caller"> }[] = [
  { list: "running", as: "running" },
  { list: "waiting", as: "waiting" },
  { list: "scheduled", as: "scheduled" },
  { list: "dead", as: "dead" },
  { list: "finished", as: "failed" },
];

/** Who has how many tasks in a queue. */
export const callerRoutes = (api: Api): readonly Route[] => [
  {
    ...{ name: "callers", method: "GET", path: "/v1/queues/:queue/callers", scopes: READ, tag: "Queues" },
    summary: "Who has how many tasks in a queue",
    description: `Of each list the first ${MAX.lookedAt} entries are counted; lists, and steps of \`bulk\`, take a caller as a filter.`,
    answers: { "200": json("The callers, those with the most tasks first.", "Callers") },
    run: (ctx) => api.engine.scans.run(() => count(ctx, api)),
  },
];

async function count(ctx: Context, api: Api): Promise<void> {
  const queue = shownQueue(api, ctx.params.queue);
  const gone = untilGone(ctx, api);
  const counts = new Map<string, { -readonly [Name in keyof CallerCounts]: CallerCounts[Name] }>();
  let complete = true;
  for (const { list, as } of COUNTED) {
    const filter = { withCallers: true, ...(list === "finished" && { states: ["failed"] as const }) };
    let after: Place | null = null;
    let looked = 0;
    do {
      const page: Awaited<ReturnType<typeof pageOfList>> = await pageOfList(api, list, {
        ...{ queue, after, limit: MAX.lookedAt, filter },
      });
      for (const { caller = "" } of page.entries) {
        const none = { waiting: 0, scheduled: 0, running: 0, failed: 0, dead: 0 };
        const counted = counts.get(caller) ?? { caller: caller === "" ? null : caller, ...none };
        counted[as] += 1;
        counts.set(caller, counted);
      }
      looked += page.looked;
      after = page.next;
    } while (after !== null && looked < MAX.lookedAt && !gone.aborted);
    complete &&= after === null;
  }
  const sumOf = ({ waiting, scheduled, running, failed, dead }: CallerCounts) =>
    waiting + scheduled + running + failed + dead;
  const items = [...counts.values()].sort((a, b) => sumOf(b) - sumOf(a));
  const others = Math.max(0, items.length - MAX.callers);
  ctx.body = { items: items.slice(0, MAX.callers), others, complete } satisfies Callers;
}
