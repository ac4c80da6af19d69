import { z } from "zod";
import { flag, listOf, pageOf } from "../../wire/document.ts";
import {
  completeBody,
  completion,
  failBody,
  failure,
  lease,
  outputBody,
  progressBody,
  renewal,
  renewBody,
  takeBody,
} from "../../wire/lease.ts";
import {
  access,
  alive,
  apiKeys,
  deploymentEvent,
  deploymentEvents,
  incident,
  incidents,
  notReady,
  quietBody,
  ready,
  worker,
} from "../../wire/operations.ts";
import { explanation, fieldError, invalidInput, invalidTask, problem } from "../../wire/problem.ts";
import {
  adjustBody,
  bulkBody,
  bulkStep,
  callers,
  deadErrors,
  deletedDead,
  histories,
  history,
  queue,
  queues,
  retriedDead,
} from "../../wire/queue.ts";
import { envelope, verdict } from "../../wire/submission.ts";
import {
  attempt,
  deadTask,
  eta,
  link,
  listedTask,
  moveBody,
  output,
  pending,
  quote,
  search,
  shown,
  state,
  task,
  taskError,
  timeline,
} from "../../wire/task.ts";
import type { Schema } from "../route.ts";

const ANSWERS = {
  State: state,
  Link: link,
  Eta: eta,
  TaskError: taskError,
  Pending: pending,
  Task: task,
  OutputValue: output,
  ListedTask: listedTask,
  TaskPage: pageOf(listedTask),
  Search: search,
  DeadTask: deadTask,
  DeadTaskPage: pageOf(deadTask),
  DryRun: quote,
  Queue: queue,
  Queues: queues,
  History: history,
  Histories: histories,
  BulkStep: bulkStep,
  DeadErrors: deadErrors,
  Callers: callers,
  RetriedDead: retriedDead,
  DeletedDead: deletedDead,
  BatchVerdict: verdict,
  Problem: problem,
  FieldError: fieldError,
  InvalidInput: invalidInput,
  InvalidTask: invalidTask,
  ProblemExplanation: explanation,
  Lease: lease,
  Leases: listOf(lease),
  LeaseRenewal: renewal,
  LeaseCompletion: completion,
  LeaseFailure: failure,
  Worker: worker,
  Workers: listOf(worker).extend({ truncated: flag }),
  DeploymentEvent: deploymentEvent,
  DeploymentEvents: deploymentEvents,
  Incident: incident,
  Incidents: incidents,
  Attempt: attempt,
  Shown: shown,
  Timeline: timeline,
  Access: access,
  ApiKeys: apiKeys,
  Alive: alive,
  Ready: ready,
  NotReady: notReady,
} satisfies Record<string, z.ZodType>;

const REQUESTS = {
  Envelope: envelope,
  bulk: bulkBody,
  move: moveBody,
  adjust: adjustBody,
  quiet: quietBody,
  "lease.take": takeBody,
  "lease.renew": renewBody,
  "lease.progress": progressBody,
  "lease.output": outputBody,
  "lease.complete": completeBody,
  "lease.fail": failBody,
} satisfies Record<string, z.ZodType>;

/** The name of a schema of the components: one of these, or one of an extension. */
export type SchemaName = keyof typeof ANSWERS | keyof typeof REQUESTS | (string & {});

/** Where a schema of the components is. */
const pathOf = (name: string): string => `#/components/schemas/${name}`;

/**
 * The schemas of what is sent and received, by name.
 * @param others what extensions answer with
 */
export function schemas(others: Readonly<Record<string, z.ZodType>>): Record<string, Schema> {
  return { ...jsonSchemas({ ...ANSWERS, ...others }, "output"), ...jsonSchemas(REQUESTS, "input") };
}

function jsonSchemas(named: Readonly<Record<string, z.ZodType>>, io: "input" | "output"): Record<string, Schema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });
  const made = z.toJSONSchema(registry, { io, uri: pathOf, override: ({ jsonSchema }) => plain(jsonSchema, io) });
  return Object.fromEntries(
    Object.entries(made.schemas).map(([name, { $schema: _, $id: __, ...schema }]) => [name, schema]),
  );
}

/** Removes from a schema what only zod adds. */
function plain(schema: Record<string, unknown>, io: "input" | "output"): void {
  // Clients must not refuse members that a later version adds to an answer.
  if (io === "output" && schema.additionalProperties === false) delete schema.additionalProperties;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
}
