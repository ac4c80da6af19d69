import { headerRefs } from "../headers.ts";
import { parameterRefs } from "../parameters.ts";
import { alsoAsPages, empty, json, problems } from "../responses.ts";
import { schemaRef } from "../schemas/schemas.ts";
import type { Operations } from "../types.ts";

/** Operations on groups. A batch with the parameter `group` makes one. */
export const groupOperations: Operations<"group" | "groupEvents" | "groupResults" | "cancelGroup"> = {
  group: {
    summary: "How many tasks of a group are where, the place of the last, and when all will have ended",
    description: "Its events if `Accept` prefers text/event-stream, an HTML page if it prefers text/html.",
    tags: ["Groups"],
    parameters: parameterRefs("If-None-Match", "Prefer-wait"),
    responses: {
      "200": {
        description: "The group is done or canceled. Or its events.",
        headers: headerRefs("ETag", "Preference-Applied"),
        content: { "application/json": { schema: schemaRef("Group") }, "text/html": {}, "text/event-stream": {} },
      },
      ...alsoAsPages({
        "202": json(
          "Some of its tasks have not ended, or it is open.",
          "Group",
          ...(["ETag", "Preference-Applied", "Retry-After", "Location"] as const),
        ),
      }),
      "304": empty(
        "The caller has the current version of the document.",
        ...(["ETag", "Preference-Applied", "Retry-After", "Location"] as const),
      ),
      ...alsoAsPages(problems("unknown", "expired")),
    },
  },
  groupEvents: {
    summary: "A group as Server-Sent Events",
    description:
      "`event: status` at once and on every change, at most twice a second, finally `event: done`. The data is the document of the group.",
    tags: ["Groups"],
    parameters: parameterRefs("Last-Event-ID", "lastEventId"),
    responses: {
      "200": { description: "Events until the group has ended.", content: { "text/event-stream": {} } },
      "204": empty("The caller has already received the last event."),
      ...problems("unknown", "expired"),
    },
  },
  groupResults: {
    summary: "The results of a group",
    description:
      "A line for each task that has ended, in the order of submission; with `follow=true` then each as it ends, until all have. A response that broke off goes on with `after`.",
    tags: ["Groups"],
    parameters: parameterRefs("follow", "afterLine"),
    responses: {
      "200": {
        description: "The results.",
        content: { "application/x-ndjson": { schema: schemaRef("GroupResult") } },
      },
      ...problems("unknown", "expired"),
    },
  },
  cancelGroup: {
    summary: "Cancel all tasks of a group that have not ended",
    description: "It takes no more tasks. Results of tasks that have ended are kept.",
    tags: ["Groups"],
    parameters: parameterRefs("If-Match"),
    responses: {
      "202": json("Its tasks are being canceled, or asked to stop where they run.", "Group"),
      "204": empty("It had ended."),
      ...problems("unknown", "expired", "precondition-failed"),
    },
  },
};
