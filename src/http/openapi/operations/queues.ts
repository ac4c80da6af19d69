import { MAX_LOOKED_AT } from "../../routes/queues/line.ts";
import { BATCH_DEFAULTS, NDJSON } from "../../routes/submit/batches.ts";
import { headerRefs } from "../headers.ts";
import { laterParameters, parameterRefs } from "../parameters.ts";
import { json, problems } from "../responses.ts";
import { type SchemaName, schemaRef } from "../schemas/schemas.ts";
import type { Operations, OperationText } from "../types.ts";

const PAGE_PARAMETERS = ["limit", "cursor", "idPrefix", "ofCaller", "ofKey", "inState", "olderThan"] as const;

const page = (summary: string, schema: SchemaName, order = "in line order"): OperationText => ({
  summary,
  tags: ["Queues"],
  description:
    `At most about ${MAX_LOOKED_AT} entries are searched for a page, so a page with a filter may have few items or none: continue ` +
    "as long as there is a `next`.",
  parameters: parameterRefs(...PAGE_PARAMETERS),
  responses: {
    "200": json(`A page, ${order}.`, schema),
    ...problems("unknown-queue"),
  },
});

const verb = (summary: string, tag: string, schema: SchemaName): OperationText => ({
  summary,
  tags: [tag],
  responses: { "200": json("Done.", schema), ...problems("unknown-queue") },
});

const bulk: OperationText = {
  summary: "Cancel, retry or delete all tasks that match",
  description:
    "One step, of at most 100 tasks: repeat it with `cursor` set to `next` until that is null. Tasks that arrive after the first step are left " +
    "alone, so that the steps end while tasks arrive. `cancel` goes with the lists `waiting`, `scheduled` and `running`, `retry` with " +
    "`dead`, `delete` with `dead` and `finished`.",
  tags: ["Queues"],
  requestBody: { required: true, content: { "application/json": { schema: schemaRef("bulk") } } },
  responses: {
    "200": json("The step is done.", "BulkStep"),
    ...problems("unknown-queue", "malformed-json", "invalid-input", "payload-too-large", "unsupported-media-type"),
  },
};

/** Operations on queues. */
export const queueOperations: Operations<
  | (
      | "queues"
      | "queue"
      | "histories"
      | "history"
      | "waiting"
      | "running"
      | "scheduled"
      | "bulk"
      | "dead"
      | "finished"
      | "deleteDead"
      | "retryDead"
      | "pause"
      | "resume"
    )
  | "submitBatch"
> = {
  queues: {
    summary: "All queues",
    tags: ["Queues"],
    responses: {
      "200": json("The queues.", "Queues"),
      ...problems(),
    },
  },
  queue: verb("One queue: depth, rates, service times, workers, input", "Queues", "Queue"),
  histories: {
    summary: "All queues in the last hour",
    tags: ["Queues"],
    parameters: parameterRefs("minutes", "step", "afterTime"),
    responses: { "200": json("Their histories.", "Histories"), ...problems() },
  },
  history: {
    summary: "A queue in the last hour: depth, counts, service times and waits",
    tags: ["Queues"],
    parameters: parameterRefs("minutes", "step", "afterTime"),
    responses: { "200": json("Its history.", "History"), ...problems("unknown-queue") },
  },
  waiting: page("Waiting tasks", "TaskPage"),
  running: page("Running tasks", "TaskPage", "ordered by the ends of their leases"),
  scheduled: page("Scheduled and retrying tasks", "TaskPage", "ordered by when they are due"),
  dead: {
    ...page("Dead tasks", "DeadTaskPage", "oldest first, or newest first"),
    tags: ["Dead letters"],
    parameters: parameterRefs(...PAGE_PARAMETERS, "deadOrder"),
  },
  finished: page("The latest outcomes: at most 1,000 are kept for each queue", "TaskPage", "newest first"),
  bulk,
  deleteDead: verb("Delete all dead tasks", "Dead letters", "DeletedDead"),
  retryDead: verb("Retry all dead tasks", "Dead letters", "RetriedDead"),
  pause: verb("Pause: start no more tasks", "Queues", "Queue"),
  resume: verb("Resume: start tasks again", "Queues", "Queue"),
  submitBatch: {
    summary: "Submit many tasks",
    description:
      `One JSON value on each line, at most ${BATCH_DEFAULTS.lines} lines and ${BATCH_DEFAULTS.bytes / 1024 ** 2} MiB. ` +
      "Read and answered as a stream: one verdict for each line, in order; empty lines are counted but get no verdict. A bad " +
      "line does not affect the others. The query and the headers Priority and Cancel-After are the defaults of every line, but with `group` a webhook is that of the group.",
    tags: ["Submit"],
    parameters: [...parameterRefs("envelope", "group", "open"), ...laterParameters()],
    requestBody: {
      required: true,
      content: {
        [NDJSON]: {
          schema: { type: "string", description: "Each line is an input, or an Envelope with `?envelope=true`." },
          example: '{"seconds":1}\n{"seconds":2}\n',
        },
      },
    },
    responses: {
      "202": {
        description: "A BatchVerdict for each line. With `group`, the group is at Location once it has a task.",
        headers: headerRefs("Location"),
        content: {
          [NDJSON]: { schema: schemaRef("BatchVerdict"), example: '{"line":0,"id":"…","href":"…","index":0}\n' },
        },
      },
      ...problems(
        "invalid-input",
        "unknown-queue",
        "id-conflict",
        "queue-full",
        "payload-too-large",
        "unsupported-media-type",
      ),
    },
  },
};
