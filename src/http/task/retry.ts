import type { Context } from "koa";
import { ProblemError } from "../../errors.ts";
import { isOutcome } from "../../task.ts";
import type { Api } from "../api.ts";
import { logAction } from "../audit-log.ts";
import { json, PENDING_HEADERS } from "../openapi/responses.ts";
import { ADMIN, type Route } from "../route.ts";
import { findTask } from "./find.ts";
import { pendingHeaders, pendingTask, unknownTask } from "./reply.ts";
import { documentOf } from "./task-document.ts";

/** Retrying one dead task. */
export function retryRoutes(api: Api): readonly Route[] {
  return [
    {
      name: "retry",
      method: "POST",
      path: "/v1/requests/:id/retry",
      scopes: ADMIN,
      tag: "Dead letters",
      summary: "Retry a dead task",
      description: "It goes to the end of the line and gets all its attempts again.",
      answers: { "202": json("The task is waiting again.", "Task", ...PENDING_HEADERS) },
      run: (ctx) => retry(ctx, api, ctx.params.id),
    },
  ];
}

/** Answers like an asynchronous submission, with the monitor document. */
async function retry(ctx: Context, api: Api, id: string): Promise<void> {
  const { engine } = api;
  const before = await findTask(ctx, api, id, { result: false });
  const verdict = await engine.call("retry", { id, queue: before.queue });
  if (verdict === "unknown") throw unknownTask(id);
  if (verdict !== "waiting") {
    const { queue, state } = before;
    const detail = verdict === "undone" ? "The work of the task is being undone, or has been undone." : undefined;
    throw new ProblemError("not-retryable", detail, { extensions: { id, queue, state, reason: verdict } });
  }
  logAction(ctx, api, "retry", { queue: before.queue, id });
  const seen = await findTask(ctx, api, id, { result: false });
  // If it has already ended, there is nothing to wait for.
  if (!isOutcome(seen.state)) pendingHeaders(ctx, pendingTask(seen));
  ctx.status = 202;
  ctx.body = documentOf(ctx, api, seen);
}
