import type { Context } from "koa";
import { type History, type Span, spanOfSamples } from "../../engine/monitoring/history.ts";
import { isInternalQueue } from "../../handler/internal-queues.ts";
import { Portions } from "../../portions.ts";
import { timestamp } from "../../wire/document.ts";
import type { Series } from "../../wire/queue.ts";
import { readParameter, wrongParameter } from "../../wire/request.ts";
import type { Api } from "../api.ts";
import { parameterRefs } from "../openapi/parameters.ts";
import { json } from "../openapi/responses.ts";
import { PARAMETERS, searchOf } from "../request/parameters.ts";
import { shownQueue } from "../request/queue.ts";
import type { Route } from "../route.ts";
import { replyList } from "./json-list.ts";

/** The default steps of a history, seconds. */
const STEP = { ofAll: 60, ofOne: 10 } as const;

/** The last hour of queues. */
export function historyRoutes(api: Api): readonly Route[] {
  return [
    {
      name: "histories",
      method: "GET",
      path: "/v1/history",
      scopes: "any",
      tag: "Queues",
      summary: "All queues in the last hour, day or week",
      parameters: parameterRefs("minutes", "step", "afterTime"),
      answers: { "200": json("Their histories.", "Histories") },
      run: (ctx) => replyAll(ctx, api),
    },
    {
      name: "history",
      method: "GET",
      path: "/v1/queues/:queue/history",
      scopes: "any",
      tag: "Queues",
      summary: "A queue in the last hour, day or week: depth, counts, service times and waits",
      parameters: parameterRefs("minutes", "step", "afterTime"),
      answers: { "200": json("Its history.", "History") },
      run: async (ctx) => {
        const queue = shownQueue(api, ctx.params.queue);
        const span = readSpan(ctx, STEP.ofOne);
        const history = await api.engine.histories.read([queue], span);
        ctx.body = { ...spanOf(span, history), ...historyOf(queue, history, 0) };
      },
    },
  ];
}

async function replyAll(ctx: Context, api: Api): Promise<void> {
  const span = readSpan(ctx, STEP.ofAll);
  const queues = api.engine.queues.names;
  const history = await api.engine.histories.read(queues, span);
  const series: Series[] = [];
  const portions = new Portions();
  for (const [n, queue] of queues.entries()) {
    const found = historyOf(queue, history, n);
    if (found) series.push(found);
    await portions.pause();
  }
  replyList(ctx, spanOf(span, history), "queues", series);
}

/** Which part of the history a request asks for. @throws ProblemError invalid-parameter */
function readSpan(ctx: Context, usualStep: number): Span {
  const search = searchOf(ctx);
  const minutes = readParameter(search, PARAMETERS.minutes);
  const least = 10 * spanOfSamples(minutes * 6);
  const step = readParameter(search, PARAMETERS.step) ?? Math.max(usualStep, least);
  if (step % least !== 0) throw wrongParameter("step", `expected a multiple of ${least} so far back`);
  return { intervals: minutes * 6, step: step / 10, afterS: readParameter(search, PARAMETERS.afterTime) ?? 0 };
}

const spanOf = ({ step }: Span, { at, deploys }: History) => ({
  ...{ step: step * 10, at },
  deploys: deploys.map(({ atMs, version }) => ({ at: timestamp(atMs), version })),
});

function historyOf(queue: string, { queues }: History, n: number): Series | undefined {
  const series = queues[n];
  if (!series) return undefined;
  const { serviceP50, serviceP95, waitP50, waitP95 } = series;
  return {
    name: queue,
    own: isInternalQueue(queue),
    ...series,
    ...{ serviceP50: seconds(serviceP50), serviceP95: seconds(serviceP95) },
    ...{ waitP50: seconds(waitP50), waitP95: seconds(waitP95) },
  };
}

const seconds = (times: readonly (number | null)[]): (number | null)[] =>
  times.map((ms) => (ms === null ? null : Math.round(ms) / 1000));
