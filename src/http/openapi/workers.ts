import { z } from "zod";
import { GATEWAY_METHODS } from "../../handler/gateway/request.ts";
import { completeBody, failBody, progressBody, renewBody, takeBody } from "../input/lease-bodies.ts";
import { asComponents } from "./inputs.ts";
import { parameterRefs } from "./parameters.ts";
import { empty, json, problems, problemsBesideResults } from "./responses.ts";
import { submitted } from "./tasks.ts";
import {
  type Method,
  type Operation,
  object,
  type Paths,
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

const verb = (name: Exclude<keyof typeof BODIES, "take">, summary: string, responses: Responses): Operation => ({
  operationId: `${name}Lease`,
  summary,
  tags: ["Workers"],
  requestBody: body(name),
  responses: { ...responses, ...problems("unknown", "invalid-task", ...bodyProblems) },
});

const verdict = (...words: readonly string[]): Schema => object({ id: { type: "string" }, verdict: { enum: words } });

const gateway = (method: Method, suffix: string): Operation => ({
  operationId: `${method}Gateway${suffix}`,
  summary: "Forwarded when its turn comes; the answer is the result",
  description:
    "A POST or PATCH without an Idempotency-Key reaches the API behind the line once at most: where no answer came, 502 with `mayHaveBeenCarriedOut`. A path with a segment `..`, in any form, is refused.",
  tags: ["Gateway"],
  parameters: parameterRefs("Prefer", "X-Request-Id", "Idempotency-Key", "Priority"),
  ...(method !== "get" && method !== "head" && { requestBody: { content: { "*/*": {} } } }),
  responses: {
    ...submitted,
    ...problemsBesideResults("queue-paused", "queue-full", "not-durable"),
    ...{ "405": problems("method-not-allowed")["405"] ?? { description: "" } },
  },
});

const gateways = (suffix: string): Paths[string] =>
  Object.fromEntries(
    GATEWAY_METHODS.map((method) => {
      const lower = method.toLowerCase() as Method;
      return [lower, gateway(lower, suffix)];
    }),
  );

/** Paths of workers in any language, and of APIs behind a line. */
export const workerPaths: Paths = {
  "/v1/queues/{queue}/leases": {
    post: {
      operationId: "takeLease",
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
  },
  "/v1/leases/{id}/renew": {
    post: verb("renew", "Keep a task for longer", {
      "200": json(
        "It is kept.",
        object({ id: { type: "string" }, cancelRequested: { type: "boolean" }, leaseSeconds: { type: "number" } }),
      ),
    }),
  },
  "/v1/leases/{id}/progress": {
    post: verb("progress", "Tell how far a task is", { "204": empty("It is told.") }),
  },
  "/v1/leases/{id}/complete": {
    post: verb("complete", "Hand in the result", {
      "200": json("It is done.", verdict("done", "canceled", "already")),
    }),
  },
  "/v1/leases/{id}/fail": {
    post: verb("fail", "Say that the attempt did not succeed", {
      "200": json("It is noted.", verdict("retrying", "failed", "dead", "canceled", "already")),
    }),
  },
  "/v1/gateway/{queue}": gateways(""),
  "/v1/gateway/{queue}/{path}": gateways("Path"),
};
