import { headerRefs } from "../headers.ts";
import { empty, json, otherHost, problems } from "../responses.ts";
import { schemaRef } from "../schemas/schemas.ts";
import type { Operations } from "../types.ts";

/** Operations for running the server, and its documentation. */
export const serviceOperations: Operations<"access" | "health" | "readiness" | "metrics" | "openapi" | "explain"> = {
  access: {
    summary: "What the caller may do",
    tags: ["Operations"],
    responses: {
      "200": json("The name of the key, whether the server has keys, and what the caller may do.", "Access"),
      ...problems(),
    },
  },
  health: {
    summary: "Whether the process is alive",
    tags: ["Operations"],
    responses: { "200": json("The process is alive.", "Alive"), ...otherHost() },
  },
  readiness: {
    summary: "Whether the server can serve requests",
    tags: ["Operations"],
    responses: {
      "200": json("It can.", "Ready"),
      "503": json("It cannot, for these reasons.", "NotReady"),
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
      "200": {
        description: "The document.",
        headers: headerRefs("ETag"),
        content: { "application/json": { schema: { type: "object" } } },
      },
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
