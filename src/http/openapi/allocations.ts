import type { ErrorCode } from "../../errors.ts";
import { headerRefs } from "./headers.ts";
import { ANY_INPUT } from "./inputs.ts";
import { parameterRefs } from "./parameters.ts";
import { empty, json, problems } from "./responses.ts";
import { ID } from "./schemas.ts";
import { type Operations, type OperationText, object, schemaRef } from "./types.ts";

const pending = (description: string) => json(description, schemaRef("AllocatedTask"), "Location", "Retry-After");
const GONE: readonly ErrorCode[] = ["unknown", "invalid-task", "expired"];
const submission = {
  tags: ["Allocated ids"],
  parameters: parameterRefs("Priority", "delay", "notBefore", "maxIndex", "webhook", "handlerQuery"),
  requestBody: ANY_INPUT,
} satisfies Partial<OperationText>;
const refusals = problems(
  ...([
    "malformed-json",
    "invalid-input",
    "id-conflict",
    "precondition-failed",
    "payload-too-large",
    "unsupported-media-type",
  ] as const),
  ...(["queue-full", "line-too-long", "not-durable", "unknown-queue", ...GONE] as const),
);

/** The dialect in which the server hands out ids first. */
export const allocationOperations: Operations<
  "allocate" | "postAllocated" | "getAllocated" | "putAllocated" | "deleteAllocated"
> = {
  allocate: {
    summary: "An id for a task to come",
    description: "It is kept for an hour, and counts towards the most tasks that may wait.",
    tags: ["Allocated ids"],
    parameters: parameterRefs("queueQuery"),
    responses: { "200": json("The id.", object({ id: ID }), "Location"), ...problems("unknown-queue", "queue-full") },
  },
  postAllocated: {
    summary: "The input of the task",
    description: "Again with the same input: the same.",
    ...submission,
    responses: { "202": pending("The task is stored."), ...refusals },
  },
  getAllocated: {
    summary: "The task, or its result",
    tags: ["Allocated ids"],
    responses: {
      "200": {
        description: "It is allocated only, or has succeeded.",
        headers: headerRefs("Location"),
        content: {
          "application/json": { schema: { anyOf: [schemaRef("AllocatedTask"), schemaRef("AllocatedResult")] } },
        },
      },
      "202": pending("It is pending."),
      ...problems(...GONE),
    },
  },
  putAllocated: {
    summary: "Another input, while the task waits",
    ...submission,
    responses: { "200": pending("The input is replaced."), "202": pending("The task is stored."), ...refusals },
  },
  deleteAllocated: {
    summary: "Cancel, or destroy the result",
    tags: ["Allocated ids"],
    responses: {
      "202": pending("Its handler still runs."),
      "204": empty("It is canceled or destroyed."),
      ...problems(...GONE),
    },
  },
};
