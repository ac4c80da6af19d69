import type { Extension } from "../../extension.ts";
import { inEachPartition } from "../../handler/internal-queues.ts";
import type { Api } from "../../http/api.ts";
import { taskLinks } from "../../http/task/links.ts";
import { monitorDocument, WITH_PROBLEM } from "../../http/task/task-document.ts";
import { attemptsOf, type TimelineSubject } from "../../http/task/timeline.ts";
import { AddressGuard } from "../../net/ssrf-guard.ts";
import { timestamp } from "../../wire/document.ts";
import type { Timeline } from "../../wire/task.ts";
import { groupDocument, groupLinks } from "../groups/group-document.ts";
import { groupsOf } from "../groups/groups.ts";
import { predictionEvent } from "../replicate/prediction.ts";
import { ATTEMPTS, deliverer } from "./delivery.ts";
import { checkTarget } from "./target.ts";

/** Tells the end of a task, or of a group, to a URL that its caller has named. */
export const webhooks: Extension = {
  start: (server) => {
    const { config, signer } = server;
    const guard = new AddressGuard(config.webhookAllow, { plainHttp: "listed" });
    const handler = deliverer({
      guard,
      secrets: config.webhookSecrets,
      // A longer result would not be part of the event.
      look: (id) => server.engine().inspector.inspect(id, WITH_PROBLEM),
      describe: (seen) =>
        monitorDocument(seen, server.engine().queues.settings(seen.queue).attempts, {
          at: taskLinks(seen.id, signer?.sign("task", seen)),
        }),
      lookAtGroup: (id) => groupsOf(server.engine()).inspect(id),
      describeGroup: (seen) => groupDocument(seen, groupLinks(seen.id, signer?.sign("group", seen))),
      otherBody: predictionEvent(server),
    });
    return {
      handler,
      // An alert counts its attempts.
      opened: ({ metrics }) => {
        for (const { queue } of inEachPartition(handler, config.partitions)) metrics.beginAttempts(queue);
      },
      checkWebhook: (url) => checkTarget(url, guard),
      timeline: async (api, of) => ({ webhooks: await deliveriesOf(api, of) }),
    };
  },
};

/** The deliveries of the webhook of a task that are still stored: one for each end of the task, and one for its call as a turn. */
async function deliveriesOf(
  { engine }: Pick<Api, "engine">,
  { seen, details: { webhook, past }, all }: TimelineSubject,
): Promise<Timeline["webhooks"]> {
  if (webhook === "") return [];
  const ends = past.flatMap(({ outcome, endedMs }) => (outcome === "dead" ? [endedMs] : []));
  if (seen.finishedMs !== null) ends.push(seen.finishedMs);
  const events = ends.map((atMs) => `${seen.id}:webhook:${atMs}`);
  if (seen.longestMs !== null && seen.startedMs !== null) events.unshift(`${seen.id}:webhook:called:${seen.startedMs}`);
  const deliveries = events.map(async (id) => {
    const [delivery, details] = await Promise.all([
      engine.inspector.inspect(id, WITH_PROBLEM),
      // It is in the partition of its task.
      engine.call("details", { id, queue: seen.queue }),
    ]);
    if (!delivery || !details) return [];
    const { state, attempts: attempt, dueMs, finishedMs } = delivery;
    return [
      {
        ...{ id, url: webhook, state, attempt, maxAttempts: ATTEMPTS },
        nextAttemptAt: timestamp(dueMs),
        finishedAt: timestamp(finishedMs),
        ...{ attempts: attemptsOf(delivery, details, all).attempts },
      },
    ];
  });
  return (await Promise.all(deliveries)).flat();
}
