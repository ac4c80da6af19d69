import { parameterRefs } from "../parameters.ts";
import { empty, json, problems } from "../responses.ts";
import { type SchemaName, schemaRef } from "../schemas/schemas.ts";
import type { Operations, OperationText, RequestBody, Responses } from "../types.ts";

type LeaseBody = Extract<SchemaName, `lease.${string}`>;

const body = (name: LeaseBody): RequestBody => ({
  required: name !== "lease.take",
  content: { "application/json": { schema: schemaRef(name) } },
});

const bodyProblems = ["malformed-json", "invalid-input", "payload-too-large", "unsupported-media-type"] as const;

const verb = (name: LeaseBody, summary: string, responses: Responses): OperationText => ({
  summary,
  tags: ["Workers"],
  requestBody: body(name),
  responses: { ...responses, ...problems("unknown", "invalid-task", ...bodyProblems) },
});

/** Operations for workers in any language. */
export const workerOperations: Operations<
  "workers" | "takeLease" | "renewLease" | "progressLease" | "writeLease" | "completeLease" | "failLease"
> = {
  takeLease: {
    summary: "Lease tasks",
    description: "Waits until there is work, for at most SYNC_LIMIT or the time in `Prefer: wait=N`.",
    tags: ["Workers"],
    parameters: parameterRefs("Prefer-wait"),
    requestBody: body("lease.take"),
    responses: {
      "200": json("The leased tasks, each with its fence.", "Leases"),
      "204": empty("No task was available in time."),
      ...problems("unknown-queue", ...bodyProblems),
    },
  },
  renewLease: verb("lease.renew", "Renew a lease", { "200": json("The lease is renewed.", "LeaseRenewal") }),
  progressLease: verb("lease.progress", "Report progress", { "204": empty("The progress is stored.") }),
  writeLease: verb("lease.output", "Write output", {
    "204": empty("The values are stored after those written before."),
  }),
  completeLease: verb("lease.complete", "Complete the task with its result", {
    "200": json("What became of the task.", "LeaseCompletion"),
  }),
  failLease: verb("lease.fail", "Fail the attempt", {
    "200": json("What became of the task.", "LeaseFailure"),
  }),
  workers: {
    summary: "The live workers, and what they run",
    description: "At most 200 running tasks and 200 workers of each queue are inspected.",
    tags: ["Workers"],
    responses: {
      "200": json("The workers.", "Workers"),
      ...problems(),
    },
  },
};
