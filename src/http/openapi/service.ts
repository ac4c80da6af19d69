import { headerRefs } from "./headers.ts";
import { empty, json, otherHost, problems } from "./responses.ts";
import { type Operations, object, schemaRef } from "./types.ts";

const text = { type: "string" };

/** For whoever runs the server, and for whoever reads about it. */
export const serviceOperations: Operations<"health" | "readiness" | "metrics" | "openapi" | "explain"> = {
  health: {
    summary: "Is the process alive",
    tags: ["Operations"],
    responses: { "200": json("It is.", object({ status: { const: "ok" } })), ...otherHost() },
  },
  readiness: {
    summary: "Is it of use",
    tags: ["Operations"],
    responses: {
      "200": json("It is.", object({ status: { const: "ready" }, reasons: { type: "array", maxItems: 0 } })),
      "503": json(
        "It is not, and why.",
        object({ status: { const: "not ready" }, reasons: { type: "array", items: text } }),
      ),
      ...otherHost(),
    },
  },
  metrics: {
    summary: "Figures for Prometheus",
    tags: ["Operations"],
    responses: { "200": { description: "The figures.", content: { "text/plain": {} } }, ...problems() },
  },
  openapi: {
    summary: "This document",
    tags: ["Operations"],
    responses: {
      "200": json("The document.", { type: "object" }, "ETag"),
      "304": empty("It is the one that the caller has.", "ETag"),
      ...otherHost(),
    },
  },
  explain: {
    summary: "What a problem means, and what to do",
    description: "A page where `Accept` prefers text/html.",
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
