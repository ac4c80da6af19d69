import { z } from "zod";
import { completeBody, failBody, progressBody, renewBody, takeBody } from "../input/lease-bodies.ts";
import { asComponents } from "./inputs.ts";
import { parameterRefs } from "./parameters.ts";
import { empty, json, problems, problemsBesideResults } from "./responses.ts";
import { submitted } from "./tasks.ts";
import {
  type Operations,
  type OperationText,
  object,
  type RequestBody,
  type Responses,
  type Schema,
  schemaRef,
} from "./types.ts";

const BODIES = { take: takeBody, renew: renewBody, progress: progressBody, complete: completeBody, fail: failBody };

/** The bodies of workers' requests: the schemas that check them. */
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
  summary: "Forwarded when its turn comes; the answer is the result",
  description:
    "A POST or PATCH without an Idempotency-Key reaches the API behind the line once at most: where no answer came, 502 with `mayHaveBeenCarriedOut`. A path with a segment `..`, in any form, is refused.",
  tags: ["Gateway"],
  parameters: parameterRefs("Prefer", "X-Request-Id", "Idempotency-Key", "Priority"),
  requestBody: { content: { "*/*": {} } },
  responses: {
    ...submitted,
    ...problemsBesideResults("queue-paused", "queue-full", "not-durable"),
    ...{ "405": problems("method-not-allowed")["405"] ?? { description: "" } },
  },
};

/** For workers in any language, and for APIs behind a line. */
export const workerOperations: Operations<
  "takeLease" | "renewLease" | "progressLease" | "completeLease" | "failLease" | "gateway" | "gatewayPath"
> = {
  takeLease: {
    summary: "Take work",
    description:
      "Held until there is work, at most for the time of a synchronous request, or as `Prefer: wait=N` says.",
    tags: ["Workers"],
    parameters: parameterRefs("Prefer-wait"),
    requestBody: body("take"),
    responses: {
      "200": json("Tasks, each with its fence.", object({ items: { type: "array", items: schemaRef("Lease") } })),
      "204": empty("No work has come."),
      ...problems("unknown-queue", ...bodyProblems),
    },
  },
  renewLease: verb("renew", "Keep a task for longer", {
    "200": json(
      "It is kept.",
      object({ id: { type: "string" }, cancelRequested: { type: "boolean" }, leaseSeconds: { type: "number" } }),
    ),
  }),
  progressLease: verb("progress", "Tell how far a task is", { "204": empty("It is told.") }),
  completeLease: verb("complete", "Hand in the result", {
    "200": json("It is done.", verdict("done", "canceled", "already")),
  }),
  failLease: verb("fail", "Say that the attempt did not succeed", {
    "200": json("It is noted.", verdict("retrying", "failed", "dead", "canceled", "already")),
  }),
  gateway,
  gatewayPath: gateway,
};
