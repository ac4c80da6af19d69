/** The documents for operators: events, workers, readiness, access. */

import { z } from "zod";
import { SCOPES } from "../auth/api-key.ts";
import { count, type Document, flag, listOf, text, time } from "./document.ts";

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
    "deployed",
    "key-added",
    "key-removed",
    "key-expired",
    "schedule-missed",
    "incident-began",
    "incident-ended",
  ] as const),
] as const;

export const deploymentEvent = z.object({
  at: time,
  kind: z
    .enum(EVENT_KINDS)
    .describe(
      "`worker-lost`: its heartbeats have ended without a goodbye; `queue-full`: MAX_WAITING was reached, `queue-drained`: at most 90 % of that are left; `target-down`, `target-up`: of the API behind a gateway; `store-full`: it refuses submissions, since it has no memory left, `store-drained`: it has room again; `store-away`: written when the store was back; `settings-changed`: an operator has changed what holds a queue, whether a worker takes work, or a schedule; `schedule-missed`: due times of a schedule were missed or refused; `key-added`, `key-removed`, `key-expired`: of the API key that `detail` names; `deployed`: the first worker with another version of the handlers, `detail`, has started; `incident-began`, `incident-ended`: of a fault in `/v1/incidents` that has no kind of its own here.",
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

/** What can be wrong, the worst first. */
export const INCIDENT_KINDS = [
  ...(["store-full", "no-handler", "no-workers", "target-down", "queue-full", "failing", "slow", "growing"] as const),
  ...(["workers-lost", "webhooks-retrying", "schedule-missed", "dead", "rate", "paused"] as const),
] as const;

export const incident = z.object({
  kind: z.enum(INCIDENT_KINDS),
  level: z.enum(["red", "amber"]).describe("`red`: a fault; `amber`: somebody wants it so."),
  queue: text.nullable().describe("Null if it is of the whole deployment."),
  text: text.describe("A sentence with figures, without its full stop."),
  list: z.enum(["waiting", "running", "scheduled", "finished", "dead"]).nullable().describe("Where the tasks are."),
  advice: text.describe("What to look at, or to do."),
  runbook: text.describe("Its entry in docs/runbook.md."),
  since: time,
});
/** Something that is wrong. */
export type Incident = Document<typeof incident>;
export const incidents = listOf(incident);
export type Incidents = Document<typeof incidents>;

export const worker = z.object({
  id: text.describe("Only its last 20 characters if `kind` is `silent`."),
  kind: z
    .enum(["process", "remote", "silent"])
    .describe(
      "`process`: one of this server's; `remote`: a program that leases tasks over HTTP; `silent`: it has tasks, but has sent no heartbeat lately.",
    ),
  host: text.nullable(),
  pid: z.int().nullable(),
  role: text.nullable(),
  version: text.nullable().describe("Of Paihao."),
  appVersion: text
    .nullable()
    .describe("Of its handlers: APP_VERSION, else that of the package.json nearest to HANDLERS."),
  startedAt: time.nullable(),
  lostAt: time
    .nullable()
    .describe("When it was found lost; it is listed for an hour. Null for a worker that is there."),
  seenAt: time.nullable().describe("Its last heartbeat."),
  slots: z.record(z.string(), count).describe("By queue."),
  quiet: flag.describe("It takes no more work."),
  actions: z.array(z.enum(["quiet", "resume"])).describe("What you can do with it now, with your key."),
  running: z.array(z.object({ id: text, queue: text, startedAt: time.nullable(), attempt: count })),
});
/** A worker, and what it runs. */
export type Worker = Document<typeof worker>;

/** Whether a worker takes no more work. */
export const quietBody = z.strictObject({ quiet: z.boolean().default(true) });

/** What the caller may do. */
export const access = z.object({
  caller: text.nullable().describe("The name of the key."),
  keys: flag.describe("Whether the server has keys."),
  scopes: z.array(z.enum(SCOPES)),
});
export type Access = Document<typeof access>;

export const apiKeys = listOf(
  z.object({
    name: text,
    scopes: z.array(z.enum(SCOPES)),
    expiresAt: time.nullable().describe("Null if it does not."),
    lastUsedAt: time.nullable().describe("The hour in which it was last used, with any process; null if never."),
  }),
);
/** The API keys of a server. */
export type ApiKeys = Document<typeof apiKeys>;

export const alive = z.object({ status: z.literal("ok") });
export const ready = z.object({
  status: z
    .enum(["ready", "degraded"])
    .describe(
      "`degraded`: the store is full, so that submissions are refused, while stored tasks run and can be collected.",
    ),
  reasons: z.array(text).max(1),
});
export const notReady = z.object({ status: z.literal("not ready"), reasons: z.array(text) });
