import type { ErrorCode } from "../../../errors.ts";
import { headerRefs } from "../../openapi/headers.ts";
import { laterParameters, parameterRefs } from "../../openapi/parameters.ts";
import { empty, json, problems } from "../../openapi/responses.ts";
import { ANY_INPUT } from "../../openapi/schemas/inputs.ts";
import { schemaRef } from "../../openapi/schemas/schemas.ts";
import type { Operations, OperationText } from "../../openapi/types.ts";
import type { allocationRoutes } from "./routes.ts";

const pending = (description: string) => json(description, "AllocatedTask", "Location", "Retry-After");
const GONE: readonly ErrorCode[] = ["unknown", "invalid-task", "expired"];
const submission = {
  tags: ["Allocated ids"],
  parameters: laterParameters(),
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
  ...(["too-many-tasks", "queue-full", "line-too-long", "not-durable", "unknown-queue", ...GONE] as const),
);

/** Operations of the dialect in which the server allocates the id first. */
export const allocationOperations: Operations<keyof typeof allocationRoutes> = {
  allocate: {
    summary: "Allocate an id for a task",
    description: "The id is kept for an hour, and counts towards MAX_WAITING.",
    tags: ["Allocated ids"],
    parameters: parameterRefs("queueQuery"),
    responses: { "200": json("The id.", "Allocation", "Location"), ...problems("unknown-queue", "queue-full") },
  },
  postAllocated: {
    summary: "Submit the input of the task",
    description: "Repeating it with the same input has no further effect.",
    ...submission,
    responses: { "202": pending("The task is stored."), ...refusals },
  },
  getAllocated: {
    summary: "Get the task, or its result",
    tags: ["Allocated ids"],
    responses: {
      "200": {
        description: "The id is allocated and has no input yet, or the task has succeeded.",
        headers: headerRefs("Location"),
        content: {
          "application/json": { schema: { anyOf: [schemaRef("AllocatedTask"), schemaRef("AllocatedResult")] } },
        },
      },
      "202": pending("The task is pending."),
      ...problems(...GONE),
    },
  },
  putAllocated: {
    summary: "Replace the input while the task is waiting",
    ...submission,
    responses: { "200": pending("The input is replaced."), "202": pending("The task is stored."), ...refusals },
  },
  deleteAllocated: {
    summary: "Cancel the task, or delete its result",
    tags: ["Allocated ids"],
    responses: {
      "202": pending("The handler is still running; it was asked to stop."),
      "204": empty("The task is canceled, or its result is deleted."),
      ...problems(...GONE),
    },
  },
};
