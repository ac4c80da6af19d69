import type { Context } from "koa";
import { ProblemError } from "../../../errors.ts";
import { isOutcome } from "../../../task.ts";
import type { DeletedDead, RetriedDead } from "../../../wire/bulk.ts";
import type { Api } from "../../api.ts";
import { logAction } from "../../audit-log.ts";
import { untilGone } from "../../live/long-poll.ts";
import { shownQueue } from "../../named-queue.ts";
import type { Endpoints } from "../../routes.ts";
import { documentOf } from "../../task/documents/monitor-document.ts";
import { findTask } from "../../task/find.ts";
import { pendingHeaders, pendingTask, unknownTask } from "../../task/reply.ts";

/** Retrying and deleting dead tasks. */
export function deadEndpoints(api: Api): Endpoints<"retry" | "retryDead" | "deleteDead"> {
  return {
    retry: (ctx) => retry(ctx, api, ctx.params.id),
    retryDead: async (ctx) => {
      const queue = shownQueue(api, ctx.params.queue);
      const retried = await api.engine.deadLetters.retryAll(queue, untilGone(ctx, api));
      logAction(ctx, api, "retry", { queue, list: "dead", done: retried });
      ctx.set("Cache-Control", "no-store");
      ctx.body = { retried } satisfies RetriedDead;
    },
    deleteDead: async (ctx) => {
      const queue = shownQueue(api, ctx.params.queue);
      const deleted = await api.engine.deadLetters.deleteAll(queue, untilGone(ctx, api));
      logAction(ctx, api, "delete", { queue, list: "dead", done: deleted });
      ctx.set("Cache-Control", "no-store");
      ctx.body = { deleted } satisfies DeletedDead;
    },
  };
}

/** Answers like an asynchronous submission, with the monitor document. */
async function retry(ctx: Context, api: Api, id: string): Promise<void> {
  const { engine } = api;
  const before = await findTask(ctx, api, id, { result: false });
  const verdict = await engine.tasks.retry(id);
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
  ctx.set("Cache-Control", "no-store");
  ctx.status = 202;
  ctx.body = documentOf(ctx, api, seen);
}
