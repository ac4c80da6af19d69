import type { Api } from "../../http/api.ts";
import type { TimelineSubject } from "../../http/extension.ts";
import { WITH_PROBLEM } from "../../http/task/documents/monitor-document.ts";
import { attemptsOf } from "../../http/task/documents/timeline.ts";
import type { Timeline } from "../../wire/timeline.ts";
import { timestamp } from "../../wire/timestamp.ts";
import { ATTEMPTS } from "./schedule.ts";

/** The deliveries of the webhook of a task: one for each end of the task that is still stored. */
export async function deliveriesOf(
  { engine }: Pick<Api, "engine">,
  { seen, details: { webhook, past }, all }: TimelineSubject,
): Promise<Timeline["webhooks"]> {
  if (webhook === "") return [];
  const ends = past.flatMap(({ fate, endedMs }) => (fate === "dead" ? [endedMs] : []));
  if (seen.finishedMs !== null) ends.push(seen.finishedMs);
  const deliveries = ends.map(async (endMs) => {
    const id = `${seen.id}:webhook:${endMs}`;
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
