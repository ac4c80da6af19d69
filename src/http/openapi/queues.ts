import { BATCH_DEFAULTS, NDJSON } from "../routes/batches.ts";
import { parameterRefs } from "./parameters.ts";
import { json, problems } from "./responses.ts";
import { nullable, type Operations, type OperationText, object, type Schema, schemaRef } from "./types.ts";

const page = (summary: string, item: string): OperationText => ({
  summary,
  tags: ["Queues"],
  parameters: parameterRefs("limit", "cursor"),
  responses: {
    "200": json(
      "A page, in line order.",
      object({ items: { type: "array", items: schemaRef(item) }, next: nullable({ type: "string" }) }),
    ),
    ...problems("unknown-queue"),
  },
});

const verb = (summary: string, tag: string, schema: Schema): OperationText => ({
  summary,
  tags: [tag],
  responses: { "200": json("Done.", schema), ...problems("unknown-queue") },
});

const count = (name: string): Schema => object({ [name]: { type: "integer", minimum: 0 } });

/** What can be done with queues. */
export const queueOperations: Operations<
  | ("queues" | "queue" | "waiting" | "running" | "dead" | "forgetDead" | "retryDead" | "pause" | "resume")
  | "submitBatch"
> = {
  queues: {
    summary: "All queues",
    tags: ["Queues"],
    responses: {
      "200": json("The queues.", object({ items: { type: "array", items: schemaRef("Queue") } })),
      ...problems(),
    },
  },
  queue: verb("Depth, rates, service times, workers and input of a queue", "Queues", schemaRef("Queue")),
  waiting: page("The tasks that wait", "Task"),
  running: page("The tasks that run", "Task"),
  dead: { ...page("The dead tasks, oldest death first", "DeadTask"), tags: ["Dead letters"] },
  forgetDead: verb("Forget all dead tasks", "Dead letters", count("forgotten")),
  retryDead: verb("Run all dead tasks again", "Dead letters", count("retried")),
  pause: verb("Take no more work", "Queues", schemaRef("Queue")),
  resume: verb("Take work again", "Queues", schemaRef("Queue")),
  submitBatch: {
    summary: "Submit many tasks",
    description:
      `A JSON value a line, at most ${BATCH_DEFAULTS.lines} lines and ${BATCH_DEFAULTS.bytes / 1024 ** 2} MiB. ` +
      "Read and answered as a stream: a verdict a line, in order; empty lines count but have none. A bad line never spoils " +
      "the others. Query and Priority header hold for every line that does not say otherwise.",
    tags: ["Submit"],
    parameters: parameterRefs(
      ...(["envelope", "Priority", "delay", "notBefore", "maxIndex", "webhook", "handlerQuery"] as const),
    ),
    requestBody: {
      required: true,
      content: {
        [NDJSON]: {
          schema: { type: "string", description: "Each line an input, or an Envelope with `?envelope=true`." },
          example: '{"seconds":1}\n{"seconds":2}\n',
        },
      },
    },
    responses: {
      "202": {
        description: "A BatchVerdict a line.",
        content: {
          [NDJSON]: { schema: schemaRef("BatchVerdict"), example: '{"line":0,"id":"…","href":"…","index":0}\n' },
        },
      },
      ...problems("unknown-queue", "payload-too-large", "unsupported-media-type"),
    },
  },
};
