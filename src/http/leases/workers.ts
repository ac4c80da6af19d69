import type { WorkerRow } from "../../engine/monitoring/workers.ts";
import { timestamp } from "../../wire/timestamp.ts";
import type { Worker } from "../../wire/worker.ts";
import type { Api } from "../api.ts";
import { json } from "../openapi/responses.ts";
import { READ, type Route } from "../route.ts";

/** The workers, and what each of them runs. */
export function workerRoutes(api: Api): readonly Route[] {
  return [
    {
      name: "workers",
      method: "GET",
      path: "/v1/workers",
      scopes: READ,
      tag: "Workers",
      summary: "The live workers and what they run, and those lost in the last hour",
      description: "At most 200 running tasks and 200 workers of each queue are inspected.",
      answers: { "200": json("The workers.", "Workers") },
      run: async (ctx) => {
        const { workers, truncated } = await api.engine.workers.list(api.engine.queues.names);
        ctx.body = { items: workers.map(workerDocument), truncated };
      },
    },
  ];
}

function workerDocument({ id, about, seenMs, slots, running, lostMs }: WorkerRow): Worker {
  return {
    id,
    kind: about?.kind ?? "silent",
    host: about?.host ?? null,
    pid: about?.pid ?? null,
    role: about?.role ?? null,
    version: about?.version ?? null,
    startedAt: timestamp(about?.startedMs ?? null),
    lostAt: timestamp(lostMs),
    seenAt: timestamp(seenMs),
    slots: Object.fromEntries(slots),
    running: running.map(({ startedMs, ...task }) => ({ ...task, startedAt: timestamp(startedMs) })),
  };
}
