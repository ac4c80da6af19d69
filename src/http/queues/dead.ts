import type { DeletedDead, RetriedDead } from "../../wire/bulk.ts";
import type { Api } from "../api.ts";
import { logAction } from "../audit-log.ts";
import { untilGone } from "../live/long-poll.ts";
import { json } from "../openapi/responses.ts";
import { ADMIN, type Route } from "../route.ts";
import { shownQueue } from "./named-queue.ts";

/** Retrying and deleting all dead tasks of a queue. */
export function deadRoutes(api: Api): readonly Route[] {
  return [
    {
      name: "deleteDead",
      method: "DELETE",
      path: "/v1/queues/:queue/dead",
      scopes: ADMIN,
      tag: "Dead letters",
      summary: "Delete all dead tasks",
      answers: { "200": json("Done.", "DeletedDead") },
      run: async (ctx) => {
        const queue = shownQueue(api, ctx.params.queue);
        const deleted = await api.engine.deadLetters.deleteAll(queue, untilGone(ctx, api));
        logAction(ctx, api, "delete", { queue, list: "dead", done: deleted });
        ctx.body = { deleted } satisfies DeletedDead;
      },
    },
    {
      name: "retryDead",
      method: "POST",
      path: "/v1/queues/:queue/dead/retry",
      scopes: ADMIN,
      tag: "Dead letters",
      summary: "Retry all dead tasks",
      answers: { "200": json("Done.", "RetriedDead") },
      run: async (ctx) => {
        const queue = shownQueue(api, ctx.params.queue);
        const retried = await api.engine.deadLetters.retryAll(queue, untilGone(ctx, api));
        logAction(ctx, api, "retry", { queue, list: "dead", done: retried });
        ctx.body = { retried } satisfies RetriedDead;
      },
    },
  ];
}
