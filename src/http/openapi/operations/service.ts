import { SCOPES } from "../../../auth/api-key.ts";
import { headerRefs } from "../headers.ts";
import { empty, json, otherHost, problems } from "../responses.ts";
import { type Operations, object, schemaRef } from "../types.ts";

const text = { type: "string" };

/** Operations for running the server, and its documentation. */
export const serviceOperations: Operations<"access" | "health" | "readiness" | "metrics" | "openapi" | "explain"> = {
  access: {
    summary: "What the caller may do",
    tags: ["Operations"],
    responses: {
      "200": json(
        "The name of the key, whether the server has keys, and what the caller may do.",
        object({
          caller: { type: ["string", "null"] },
          keys: { type: "boolean" },
          scopes: { type: "array", items: { enum: SCOPES } },
        }),
      ),
      ...problems(),
    },
  },
  health: {
    summary: "Whether the process is alive",
    tags: ["Operations"],
    responses: { "200": json("The process is alive.", object({ status: { const: "ok" } })), ...otherHost() },
  },
  readiness: {
    summary: "Whether the server can serve requests",
    tags: ["Operations"],
    responses: {
      "200": json("It can.", object({ status: { const: "ready" }, reasons: { type: "array", maxItems: 0 } })),
      "503": json(
        "It cannot, for these reasons.",
        object({ status: { const: "not ready" }, reasons: { type: "array", items: text } }),
      ),
      ...otherHost(),
    },
  },
  metrics: {
    summary: "Metrics for Prometheus",
    tags: ["Operations"],
    responses: { "200": { description: "The metrics.", content: { "text/plain": {} } }, ...problems() },
  },
  openapi: {
    summary: "This document",
    tags: ["Operations"],
    responses: {
      "200": json("The document.", { type: "object" }, "ETag"),
      "304": empty("The caller has the current version.", "ETag"),
      ...otherHost(),
    },
  },
  explain: {
    summary: "What a problem means, and what to do",
    description: "An HTML page if `Accept` prefers text/html.",
    tags: ["Operations"],
    responses: {
      "200": {
        description: "The explanation.",
        headers: headerRefs(),
        content: { "application/json": { schema: schemaRef("ProblemExplanation") }, "text/html": {} },
      },
      ...problems("not-found"),
    },
  },
};
