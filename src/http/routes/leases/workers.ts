import type { WorkerRow } from "../../../engine/monitoring/workers.ts";
import { timestamp } from "../../../timestamp.ts";
import type { Worker } from "../../../wire/worker.ts";
import type { Api } from "../../api.ts";
import type { Endpoints } from "../../routes.ts";

/** The workers, and what each of them runs. */
export function workerEndpoints(api: Api): Endpoints<"workers"> {
  return {
    workers: async (ctx) => {
      const { workers, truncated } = await api.engine.workers.list(api.engine.queues.names);
      ctx.set("Cache-Control", "no-store");
      ctx.body = { items: workers.map(workerDocument), truncated };
    },
  };
}

function workerDocument({ id, about, seenMs, slots, running }: WorkerRow): Worker {
  return {
    id,
    kind: about?.kind ?? "silent",
    host: about?.host ?? null,
    pid: about?.pid ?? null,
    role: about?.role ?? null,
    version: about?.version ?? null,
    startedAt: timestamp(about?.startedMs ?? null),
    seenAt: timestamp(seenMs),
    slots: Object.fromEntries(slots),
    running: running.map(({ startedMs, ...task }) => ({ ...task, startedAt: timestamp(startedMs) })),
  };
}
