import { z } from "zod";
import { completeBody, failBody, outputBody, progressBody, renewBody, takeBody } from "../../input/lease-bodies.ts";
import { parameterRefs } from "../parameters.ts";
import { empty, json, problems, problemsBesideResults } from "../responses.ts";
import { asComponents } from "../schemas/inputs.ts";
import {
  type Operations,
  type OperationText,
  object,
  type RequestBody,
  type Responses,
  type Schema,
  schemaRef,
} from "../types.ts";
import { submitted } from "./tasks.ts";

const BODIES = {
  take: takeBody,
  renew: renewBody,
  progress: progressBody,
  output: outputBody,
  complete: completeBody,
  fail: failBody,
};

/** The schemas of the request bodies of workers, from those that validate them. */
export const leaseSchemas: Readonly<Record<string, Schema>> = Object.assign(
  {},
  ...Object.entries(BODIES).map(([name, body]) => asComponents(`lease.${name}`, z.toJSONSchema(body, { io: "input" }))),
);

const body = (name: keyof typeof BODIES): RequestBody => ({
  required: name !== "take",
  content: { "application/json": { schema: schemaRef(`lease.${name}`) } },
});

const bodyProblems = ["malformed-json", "invalid-input", "payload-too-large", "unsupported-media-type"] as const;

const verb = (name: Exclude<keyof typeof BODIES, "take">, summary: string, responses: Responses): OperationText => ({
  summary,
  tags: ["Workers"],
  requestBody: body(name),
  responses: { ...responses, ...problems("unknown", "invalid-task", ...bodyProblems) },
});

const verdict = (...words: readonly string[]): Schema => object({ id: { type: "string" }, verdict: { enum: words } });

const gateway: OperationText = {
  summary: "Forward the request when its turn comes; the response is the result",
  description:
    "A POST or PATCH without an Idempotency-Key is sent to the target at most once; without a response from it: 502 with `mayHaveBeenCarriedOut`. A path with a segment `..`, in any form, is refused.",
  tags: ["Gateway"],
  parameters: parameterRefs("Prefer", "X-Request-Id", "Idempotency-Key", "Priority", "Cancel-After"),
  requestBody: { content: { "*/*": {} } },
  responses: {
    ...submitted,
    ...problemsBesideResults("queue-paused", "queue-full", "not-durable"),
    ...{ "405": problems("method-not-allowed")["405"] ?? { description: "" } },
  },
};

/** Operations for workers in any language, and of gateways. */
export const workerOperations: Operations<
  | "workers"
  | "takeLease"
  | "renewLease"
  | "progressLease"
  | "writeLease"
  | "completeLease"
  | "failLease"
  | "gateway"
  | "gatewayPath"
> = {
  takeLease: {
    summary: "Lease tasks",
    description: "Waits until there is work, for at most SYNC_LIMIT or the time in `Prefer: wait=N`.",
    tags: ["Workers"],
    parameters: parameterRefs("Prefer-wait"),
    requestBody: body("take"),
    responses: {
      "200": json(
        "The leased tasks, each with its fence.",
        object({ items: { type: "array", items: schemaRef("Lease") } }),
      ),
      "204": empty("No task was available in time."),
      ...problems("unknown-queue", ...bodyProblems),
    },
  },
  renewLease: verb("renew", "Renew a lease", {
    "200": json(
      "The lease is renewed.",
      object({
        id: { type: "string" },
        cancelRequested: { type: "boolean" },
        reason: {
          enum: ["canceled", "deadline", null],
          description: "Why the worker is asked to stop; null if it is not.",
        },
        leaseSeconds: { type: "number" },
      }),
    ),
  }),
  progressLease: verb("progress", "Report progress", { "204": empty("The progress is stored.") }),
  writeLease: verb("output", "Write output", { "204": empty("The values are stored, behind those written before.") }),
  completeLease: verb("complete", "Complete the task with its result", {
    "200": json("What became of the task.", verdict("done", "canceled", "already")),
  }),
  failLease: verb("fail", "Fail the attempt", {
    "200": json("What became of the task.", verdict("retrying", "failed", "dead", "canceled", "already")),
  }),
  workers: {
    summary: "The live workers, and what they run",
    description: "Of each queue at most 200 running tasks are looked at, and 200 workers.",
    tags: ["Workers"],
    responses: {
      "200": json(
        "The workers.",
        object({ items: { type: "array", items: schemaRef("Worker") }, truncated: { type: "boolean" } }),
      ),
      ...problems(),
    },
  },
  gateway,
  gatewayPath: gateway,
};
