import { z } from "zod";
import { count, type Document, text, time } from "./values.ts";

/** What can happen to a deployment. A state is one event when it begins and one when it ends. */
const EVENT_KINDS = [
  ...(["server-started", "server-stopping", "worker-started", "worker-stopped", "worker-lost"] as const),
  ...([
    "queue-paused",
    "queue-resumed",
    "queue-full",
    "queue-drained",
    "target-down",
    "target-up",
    "store-full",
    "store-drained",
    "store-away",
    "settings-changed",
  ] as const),
] as const;

export const deploymentEvent = z.object({
  at: time,
  kind: z
    .enum(EVENT_KINDS)
    .describe(
      "`worker-lost`: its heartbeats have ended without a goodbye; `queue-full`: MAX_WAITING was reached, `queue-drained`: at most 90 % of that are left; `target-down`, `target-up`: of the API behind a gateway; `store-full`: it refuses submissions, since it has no memory left, `store-drained`: it has room again; `store-away`: written when the store was back; `settings-changed`: an operator has changed what holds a queue, whether a worker takes work, or a schedule.",
    ),
  queue: text.exactOptional(),
  worker: text.exactOptional(),
  tasks: z.array(text).max(10).exactOptional().describe("Ids of tasks that a lost worker had, at most 10."),
  count: count.exactOptional().describe("How many tasks that were."),
  by: text.exactOptional().describe("The name of the API key with which it was done."),
  detail: text.exactOptional(),
});
/** Something that happened to the deployment. */
export type DeploymentEvent = Document<typeof deploymentEvent>;

export const deploymentEvents = z.object({ items: z.array(deploymentEvent), next: text.nullable() });
/** A page of them, the newest first. */
export type DeploymentEvents = Document<typeof deploymentEvents>;
