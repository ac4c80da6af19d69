import type { ErrorGroup } from "../../engine/upkeep/dead-letters.ts";
import { timestamp } from "../../wire/document.ts";
import type { DeadError, DeadErrors, DeletedDead, RetriedDead } from "../../wire/queue.ts";
import type { Api } from "../api.ts";
import { logAction } from "../audit-log.ts";
import { json } from "../openapi/responses.ts";
import { shownQueue } from "../request/queue.ts";
import { ADMIN, READ, type Route } from "../route.ts";
import { untilGone } from "../server/long-poll.ts";

/** Maximum number of errors in an answer. */
const MAX_ERRORS = 100;

/** What the dead tasks of a queue died of; retrying and deleting all of them. */
export function deadRoutes(api: Api): readonly Route[] {
  return [
    {
      name: "deadErrors",
      method: "GET",
      path: "/v1/queues/:queue/dead/errors",
      scopes: READ,
      tag: "Dead letters",
      summary: "Dead tasks by error",
      description: "The list, and steps of `bulk`, take one of the errors as the filter `error`.",
      answers: { "200": json("Each error, with how many died of it.", "DeadErrors") },
      run: async (ctx) => {
        const queue = shownQueue(api, ctx.params.queue);
        const { deadLetters, scans } = api.engine;
        const groups = await scans.run(() => deadLetters.errors(queue, untilGone(ctx, api)));
        const others = groups.slice(MAX_ERRORS).reduce((sum, { count }) => sum + count, 0);
        ctx.body = { items: groups.slice(0, MAX_ERRORS).map(errorDocument), others } satisfies DeadErrors;
      },
    },
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
        const { deadLetters, scans } = api.engine;
        const deleted = await scans.run(() => deadLetters.deleteAll(queue, untilGone(ctx, api)));
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
        const { deadLetters, scans } = api.engine;
        const retried = await scans.run(() => deadLetters.retryAll(queue, untilGone(ctx, api)));
        logAction(ctx, api, "retry", { queue, list: "dead", done: retried });
        ctx.body = { retried } satisfies RetriedDead;
      },
    },
  ];
}

function errorDocument({ error, count, retryable, firstMs, lastMs }: ErrorGroup): DeadError {
  const [code = ""] = error.split(":", 1);
  const message = error.slice(code.length + 2);
  return { error, code, message, count, retryable, firstAt: timestamp(firstMs), lastAt: timestamp(lastMs) };
}
