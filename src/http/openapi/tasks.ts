import type { Handler } from "../../handler/define.ts";
import { DEFAULT_QUEUE } from "../routes.ts";
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
import { type Operations, type OperationText, type RequestBody, type Responses, schemaRef } from "./types.ts";

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

function submit(summary: string, requestBody: RequestBody): OperationText {
  return { summary, tags: ["Submit"], parameters: SUBMIT_PARAMETERS, requestBody, responses: submitted };
}

const CONDITIONS = parameterRefs("If-Match", "If-None-Match-write");

function put(summary: string, requestBody: RequestBody): OperationText {
  const submission = SUBMIT_PARAMETERS.filter(({ $ref }) => !/X-Request-Id|Idempotency-Key/.test($ref));
  const parameters = [...submission, ...CONDITIONS];
  const responses = { ...problemsBesideResults("precondition-failed"), ...submitted };
  const description = "Of a task that waits the input is replaced; it keeps its place, and the answer is its document.";
  return { summary, description, tags: ["Submit"], parameters, requestBody, responses };
}

/** Submitting a task, under the path of no single queue. */
export function submitOperations(handlers: readonly Handler[]): Operations<"submit" | "submitTo" | "put" | "putTo"> {
  const byDefault = handlers.find(({ queue }) => queue === DEFAULT_QUEUE);
  const body = byDefault ? inputBody(byDefault) : ANY_INPUT;
  return {
    submit: submit(`Submit to the queue ${DEFAULT_QUEUE}`, body),
    put: put(`Submit to the queue ${DEFAULT_QUEUE} under an id of one's own`, body),
    submitTo: submit("Submit to any queue", ANY_INPUT),
    putTo: put("Submit to any queue under an id of one's own", ANY_INPUT),
  };
}

/** Submitting a task to the queue of a handler, with what it accepts. */
export function submitOperation(handler: Handler): OperationText {
  return submit(`Submit to the queue ${handler.queue}`, inputBody(handler));
}

/** Answers that are shown as a page to whoever prefers one. */
const alsoAsPages = (responses: Responses): Responses =>
  Object.fromEntries(
    Object.entries(responses).map(([status, response]) => [
      status,
      { ...response, content: { ...response.content, "text/html": {} } },
    ]),
  );

const monitor = (summary: string): OperationText => ({
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

/** What can be done with one task. */
export const taskOperations: Operations<"collect" | "cancel" | "watch" | "watchQueue" | "follow" | "retry"> = {
  collect: {
    summary: "The result, or the place in line",
    tags: ["Watch"],
    parameters: parameterRefs("pending"),
    responses: {
      ...results(),
      ...problemsBesideResults("pending", "unknown", ...ENDED, ...FAILED),
      "202": accepted,
    },
  },
  cancel: {
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
  watch: monitor("State, place in line, progress and estimate"),
  watchQueue: monitor("The same, under another path"),
  follow: {
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
  retry: {
    summary: "Run a dead task again",
    description: "It goes to the end of the line, with fresh attempts.",
    tags: ["Dead letters"],
    responses: { "202": acceptedTask("The task is in line again."), ...problems("unknown", "not-retryable") },
  },
};
