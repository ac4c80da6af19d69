import type { Handler } from "../../handler/define.ts";
import { DEFAULT_QUEUE } from "../routes/submit.ts";
import { headerRefs } from "./headers.ts";
import { ANY_INPUT, inputBody } from "./inputs.ts";
import { parameterRefs, SUBMIT_PARAMETERS } from "./parameters.ts";
import {
  accepted,
  acceptedTask,
  ENDED,
  empty,
  FAILED,
  json,
  problems,
  problemsBesideResults,
  results,
} from "./responses.ts";
import { type Operation, type Paths, type RequestBody, type Responses, schemaRef } from "./types.ts";

/** Answers of a submission: 202, or the result where it is waited for. */
export const submitted: Responses = {
  ...results(),
  ...problemsBesideResults(
    ...(["malformed-json", "invalid-input", "unknown-queue", "id-conflict", ...ENDED, "payload-too-large"] as const),
    ...([
      "unsupported-media-type",
      "idempotency-conflict",
      ...FAILED,
      "queue-full",
      "line-too-long",
      "resolver-unavailable",
    ] as const),
    ...(["not-durable", "sync-timeout"] as const),
  ),
  "202": accepted,
};

function submit(operationId: string, summary: string, requestBody: RequestBody): Operation {
  return { operationId, summary, tags: ["Submit"], parameters: SUBMIT_PARAMETERS, requestBody, responses: submitted };
}

const CONDITIONS = parameterRefs("If-Match", "If-None-Match-write");

function put(operationId: string, summary: string, requestBody: RequestBody): Operation {
  const submission = SUBMIT_PARAMETERS.filter(({ $ref }) => !/X-Request-Id|Idempotency-Key/.test($ref));
  const parameters = [...submission, ...CONDITIONS];
  const responses = { ...problemsBesideResults("precondition-failed"), ...submitted };
  const description = "Of a task that waits the input is replaced; it keeps its place, and the answer is its document.";
  return { operationId, summary, description, tags: ["Submit"], parameters, requestBody, responses };
}

/** Paths that hand in tasks: one of each queue with what its handler accepts, and the general ones. */
export function submitPaths(handlers: readonly Handler[]): Paths {
  const byDefault = handlers.find(({ queue }) => queue === DEFAULT_QUEUE);
  const body = byDefault ? inputBody(byDefault) : ANY_INPUT;
  const paths: Record<string, Paths[string]> = {
    "/v1/requests": { post: submit("submit", `Submit to the queue ${DEFAULT_QUEUE}`, body) },
    "/v1/requests/{id}": { put: put("put", `Submit to the queue ${DEFAULT_QUEUE} under an id of one's own`, body) },
    "/v1/queues/{queue}/requests": { post: submit("submitTo", "Submit to any queue", ANY_INPUT) },
    "/v1/queues/{queue}/requests/{id}": {
      put: put("putTo", "Submit to any queue under an id of one's own", ANY_INPUT),
    },
  };
  for (const handler of handlers) {
    const { queue } = handler;
    paths[`/v1/queues/${queue}/requests`] = {
      post: submit(`submit-${queue}`, `Submit to the queue ${queue}`, inputBody(handler)),
    };
  }
  return paths;
}

/** Answers that are shown as a page to whoever prefers one. */
const alsoAsPages = (responses: Responses): Responses =>
  Object.fromEntries(
    Object.entries(responses).map(([status, response]) => [
      status,
      { ...response, content: { ...response.content, "text/html": {} } },
    ]),
  );

const monitor = (operationId: string, summary: string): Operation => ({
  operationId,
  summary,
  description: "A page for a person where `Accept` prefers text/html.",
  tags: ["Watch"],
  parameters: parameterRefs("onComplete", "onPending", "If-None-Match", "Prefer-wait"),
  responses: {
    ...results(),
    ...alsoAsPages(problemsBesideResults("pending", "unknown", ...ENDED, ...FAILED)),
    "200": {
      description: "The task has ended. With `onComplete=stream`: its result.",
      headers: headerRefs("ETag", "Preference-Applied", "Expires", "X-Task-State"),
      content: { "application/json": { schema: {} }, "text/html": {}, "*/*": {} },
    },
    "202": {
      description: "The task is pending.",
      headers: headerRefs(
        ...(["ETag", "Retry-After", "Location", "Preference-Applied", "Operation-Location", "Link"] as const),
        ...(["X-Task-State", "X-Queue-Index", "X-Queue-ETA"] as const),
      ),
      content: {
        "application/json": { schema: { anyOf: [schemaRef("Task"), schemaRef("Pending")] } },
        "text/html": {},
      },
    },
    "303": empty("The task has ended: its result is at Location.", "Location"),
    "304": empty(
      "The task is still of the version that the caller has.",
      "ETag",
      "Preference-Applied",
      "Retry-After",
      "Location",
    ),
  },
});

/** Paths of one task. */
export const taskPaths: Paths = {
  "/v1/requests/{id}": {
    get: {
      operationId: "collect",
      summary: "The result, or the place in line",
      tags: ["Watch"],
      parameters: parameterRefs("pending"),
      responses: {
        ...results(),
        ...problemsBesideResults("pending", "unknown", ...ENDED, ...FAILED),
        "202": accepted,
      },
    },
    delete: {
      operationId: "cancel",
      summary: "Cancel; of a finished task destroy the result",
      tags: ["Submit"],
      parameters: CONDITIONS,
      responses: {
        "200": json("The task is canceled.", schemaRef("Task")),
        "202": json("The task runs: its handler is asked to stop.", schemaRef("Task")),
        "204": empty("The result is destroyed, or was gone before."),
        ...problems("unknown", "precondition-failed"),
      },
    },
  },
  "/v1/requests/{id}/status": { get: monitor("watch", "State, place in line, progress and estimate") },
  "/v1/queue/requests/{id}": { get: monitor("watchQueue", "The same, under another path") },
  "/v1/requests/{id}/events": {
    get: {
      operationId: "follow",
      summary: "The monitor as Server-Sent Events",
      description:
        "`event: status` at once and on every change, at last `event: done`; the data is the monitor's document.",
      tags: ["Watch"],
      parameters: parameterRefs("Last-Event-ID", "lastEventId"),
      responses: {
        "200": { description: "Events until the task has ended.", content: { "text/event-stream": {} } },
        "204": empty("The caller has had the last event."),
        ...problems("unknown", "deleted"),
      },
    },
  },
  "/v1/requests/{id}/retry": {
    post: {
      operationId: "retry",
      summary: "Run a dead task again",
      description: "It goes to the end of the line, with fresh attempts.",
      tags: ["Dead letters"],
      responses: { "202": acceptedTask("The task is in line again."), ...problems("unknown", "not-retryable") },
    },
  },
};
