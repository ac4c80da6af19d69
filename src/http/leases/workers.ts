import type { Context } from "koa";
import type { WorkerRow } from "../../engine/monitoring/workers.ts";
import { ProblemError } from "../../errors.ts";
import { timestamp } from "../../wire/document.ts";
import type { Worker } from "../../wire/operations.ts";
import { quietBody } from "../../wire/operations.ts";
import type { Api } from "../api.ts";
import { empty, json, jsonBody } from "../openapi/responses.ts";
import { accessOf, hasScope } from "../request/access.ts";
import { readJson } from "../request/body.ts";
import { ADMIN, READ, type Route } from "../route.ts";

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
        ctx.body = { items: workers.map((row) => workerDocument(row, hasScope(accessOf(ctx), ADMIN))), truncated };
      },
    },
    {
      name: "quiet",
      method: "POST",
      path: "/v1/workers/:id/quiet",
      scopes: ADMIN,
      tag: "Workers",
      summary: "Quiet a worker: it ends what it has and takes no more",
      description: 'With `{ "quiet": false }` it takes work again. Holds for as long as the worker lives.',
      body: jsonBody("quiet", { required: false }),
      answers: { "204": empty("The worker hears of it.") },
      run: (ctx) => quiet(ctx, api),
    },
  ];
}

/** @throws ProblemError not-found if no such worker is alive */
async function quiet(ctx: Context, api: Api): Promise<void> {
  const id: string = ctx.params.id ?? "";
  const body = await readJson(ctx.req, quietBody, api.maxBodyBytes);
  const { workers, queues, events } = api.engine;
  if (!(await workers.quiet(id, body.quiet, queues.names)))
    throw new ProblemError("not-found", "No worker of this id is alive.");
  const { caller } = accessOf(ctx);
  const detail = body.quiet ? "takes no more work" : "takes work again";
  await events.note({ kind: "settings-changed", worker: id, ...(caller !== null && { by: caller }), detail });
  api.log.info({ audit: "quiet", by: caller, worker: id, quiet: body.quiet }, `audit: worker ${id} ${detail}`);
  ctx.status = 204;
}

function workerDocument({ id, about, seenMs, slots, quiet, running, lostMs }: WorkerRow, isOperator: boolean): Worker {
  return {
    id,
    kind: about?.kind ?? "silent",
    host: about?.host ?? null,
    pid: about?.pid ?? null,
    role: about?.role ?? null,
    version: about?.version ?? null,
    appVersion: about?.app ?? null,
    startedAt: timestamp(about?.startedMs ?? null),
    lostAt: timestamp(lostMs),
    seenAt: timestamp(seenMs),
    slots: Object.fromEntries(slots),
    quiet,
    // One that is lost, or sends no heartbeats, does not hear of it.
    actions: isOperator && lostMs === null && slots.size > 0 ? [quiet ? "resume" : "quiet"] : [],
    running: running.map(({ startedMs, ...task }) => ({ ...task, startedAt: timestamp(startedMs) })),
  };
}
