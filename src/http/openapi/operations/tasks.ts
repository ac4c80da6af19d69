import type { Handler } from "../../../handler/define.ts";
import { DEFAULT_QUEUE } from "../../routes.ts";
import { headerRefs } from "../headers.ts";
import { parameterRefs, submitParameters } from "../parameters.ts";
import {
  accepted,
  acceptedTask,
  alsoAsPages,
  ENDED,
  empty,
  FAILED,
  json,
  PENDING_HEADERS,
  problems,
  problemsBesideResults,
  resultOrEvents,
  results,
} from "../responses.ts";
import { ANY_INPUT, inputBody } from "../schemas/inputs.ts";
import { schemaRef } from "../schemas/schemas.ts";
import type { Operations, OperationText, RequestBody, Responses } from "../types.ts";

/** Responses to a submission: 202, or the result if the caller waits for it. */
export const submitted: Responses = {
  ...results(),
  ...problemsBesideResults(
    ...(["malformed-json", "invalid-input", "unknown-queue", "id-conflict", ...ENDED, "payload-too-large"] as const),
    ...([
      "unsupported-media-type",
      "idempotency-conflict",
      ...FAILED,
      "too-many-tasks",
      "queue-full",
      "line-too-long",
      "resolver-unavailable",
    ] as const),
    ...(["not-durable", "sync-timeout"] as const),
  ),
  "202": accepted,
};

const LIVE =
  "If `Accept` prefers text/event-stream: 200 at once, with the headers of a 202 and the events of the task (as from `/events`); `Prefer` is then not applied.";

function submit(summary: string, requestBody: RequestBody): OperationText {
  return {
    summary,
    description: LIVE,
    tags: ["Submit"],
    parameters: submitParameters(),
    requestBody,
    responses: { ...submitted, "200": resultOrEvents },
  };
}

const CONDITIONS = parameterRefs("If-Match", "If-None-Match-write");

function put(summary: string, requestBody: RequestBody): OperationText {
  const submission = submitParameters(({ name }) => name !== "X-Request-Id" && name !== "Idempotency-Key");
  const parameters = [...submission, ...CONDITIONS];
  const responses = { ...problemsBesideResults("precondition-failed"), ...submitted, "200": resultOrEvents };
  const description = `If the task is waiting, its input is replaced; it keeps its place, and the response is its document. ${LIVE}`;
  return { summary, description, tags: ["Submit"], parameters, requestBody, responses };
}

/** Submissions through the general paths. */
export function submitOperations(
  handlers: readonly Handler[],
): Operations<"submit" | "submitTo" | "put" | "putTo" | "again"> {
  const byDefault = handlers.find(({ queue }) => queue === DEFAULT_QUEUE);
  const body = byDefault ? inputBody(byDefault) : ANY_INPUT;
  return {
    submit: submit(`Submit to the queue ${DEFAULT_QUEUE}`, body),
    put: put(`Submit to the queue ${DEFAULT_QUEUE} under an id of your choice`, body),
    submitTo: submit("Submit to any queue", ANY_INPUT),
    putTo: put("Submit to any queue under an id of your choice", ANY_INPUT),
    again: {
      ...submit("Submit the input of a task again, or an edited one, as a new task", { ...ANY_INPUT, required: false }),
      description: `An empty body stands for the input that the task was given, as long as that is kept; else 410 \`expired\`. ${LIVE}`,
    },
  };
}

/** Submissions to the queue of one handler, with its input schema. */
export function submitOperation(handler: Handler): OperationText {
  return submit(`Submit to the queue ${handler.queue}`, inputBody(handler));
}

const monitor = (summary: string): OperationText => ({
  summary,
  description: "An HTML page if `Accept` prefers text/html.",
  tags: ["Watch"],
  parameters: parameterRefs("onComplete", "onPending", "embed", "If-None-Match", "Prefer-wait"),
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
      headers: headerRefs("ETag", "Preference-Applied", ...PENDING_HEADERS),
      content: {
        "application/json": { schema: { anyOf: [schemaRef("Task"), schemaRef("Pending")] } },
        "text/html": {},
      },
    },
    "303": empty("The task has ended: its result is at Location.", "Location"),
    "304": empty(
      "The caller has the current version of the document.",
      "ETag",
      "Preference-Applied",
      "Retry-After",
      "Location",
    ),
  },
});

/** Operations on one task. */
export const taskOperations: Operations<
  "timeline" | "input" | "collect" | "cancel" | "move" | "watch" | "watchQueue" | "follow" | "output" | "retry"
> = {
  collect: {
    summary: "Collect the result, or see the place in line",
    tags: ["Watch"],
    parameters: parameterRefs("pending"),
    responses: {
      ...results(),
      ...problemsBesideResults("pending", "unknown", ...ENDED, ...FAILED),
      "202": accepted,
    },
  },
  cancel: {
    summary: "Cancel the task; if it has ended, delete its result",
    tags: ["Submit"],
    parameters: CONDITIONS,
    responses: {
      "200": json("The task is canceled.", "Task"),
      "202": json("The task is running: its handler was asked to stop.", "Task"),
      "204": empty("The result is deleted, or was gone already."),
      ...problems("unknown", "precondition-failed"),
    },
  },
  watch: monitor("State, place in line, progress and estimate"),
  watchQueue: monitor("The same monitor at another path"),
  follow: {
    summary: "The monitor as Server-Sent Events",
    description:
      "`event: status` at once and on every change, `event: output` for each value that the handler writes, finally `event: done`. The data is the document of the monitor, that of `output` an OutputValue; in `done` it has the result (JSON below 20 kB) or the problem. To resume after an event, send its id as `Last-Event-ID`.",
    tags: ["Watch"],
    parameters: parameterRefs("Last-Event-ID", "lastEventId"),
    responses: {
      "200": { description: "Events until the task has ended.", content: { "text/event-stream": {} } },
      "204": empty("The caller has already received the last event."),
      ...problems("unknown", "deleted"),
    },
  },
  output: {
    summary: "What the handler writes while it runs",
    description:
      "A line for each value: those written so far, then new ones until the task ends. `Prefer: wait=N` ends the response after N seconds, `wait=0` after the values written so far. If a response breaks off, continue with `after`.",
    tags: ["Watch"],
    parameters: parameterRefs("after", "Prefer-wait"),
    responses: {
      "200": {
        description: "The values, in order.",
        headers: headerRefs("Preference-Applied"),
        content: { "application/x-ndjson": { schema: schemaRef("OutputValue") } },
      },
      ...problems("unknown", ...ENDED),
    },
  },
  input: {
    summary: "The input of a task, as it was submitted",
    description:
      "As a file to be saved. It is kept as long as the result, unless the handler says otherwise; after that: 410 `expired`.",
    tags: ["Watch"],
    responses: {
      "200": {
        description: "The input.",
        headers: headerRefs("Content-Disposition"),
        content: { "*/*": { schema: { type: "string", contentEncoding: "binary" } } },
      },
      ...problems("unknown", "deleted", "expired"),
    },
  },
  timeline: {
    summary: "What happened to a task: attempts, steps, undo, webhooks, input and result",
    description: "Workers and the errors of attempts are shown only to API keys with the scope `read`.",
    tags: ["Watch"],
    responses: { "200": json("Its timeline.", "Timeline"), ...problems("unknown", "deleted") },
  },
  move: {
    summary: "Move a task that waits: its priority, its place or its time",
    description:
      "The order of all others stays. Callers may lower the priority of their own tasks and change their times; the rest needs the scope `admin`. A place is at the start or the end of the whole line. In a fair or keyed line, or one with a `limit`, only the priority can be changed.",
    tags: ["Submit"],
    requestBody: { required: true, content: { "application/json": { schema: schemaRef("move") } } },
    responses: {
      "200": json("The task at its new place.", "Task"),
      ...problems("unknown", "not-waiting", "malformed-json", "invalid-input", "payload-too-large"),
    },
  },
  retry: {
    summary: "Retry a dead task",
    description: "It goes to the end of the line and gets all its attempts again.",
    tags: ["Dead letters"],
    responses: { "202": acceptedTask("The task is waiting again."), ...problems("unknown", "not-retryable") },
  },
};
