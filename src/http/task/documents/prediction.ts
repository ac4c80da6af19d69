import { createHash } from "node:crypto";
import type { Inspection } from "../../../engine/reading/inspect.ts";
import type { State } from "../../../task.ts";
import { timestamp } from "../../../timestamp.ts";
import { pathTo } from "../../routes.ts";
import { paths } from "../links.ts";
import { errorOf } from "./monitor-document.ts";

/** The ids of predictions begin with this: so the event of their end has the form that the caller expects. */
const PREFIX = "prediction-";
/** As long as an id may be. */
const LONGEST_ID = 128;

/** The statuses of the dialect. */
const STATUSES: Readonly<Record<State, string>> = {
  waiting: "starting",
  scheduled: "starting",
  retrying: "starting",
  running: "processing",
  succeeded: "succeeded",
  failed: "failed",
  canceled: "canceled",
};

const path = pathTo("getPrediction");

/** The id of the prediction that a request submits: the same for the same request id, and for no other. */
export function predictionId(requestId: string): string {
  const id = PREFIX + requestId;
  return id.length <= LONGEST_ID ? id : PREFIX + createHash("sha256").update(requestId).digest("base64url");
}

/** Whether a task was submitted as a prediction. */
export function isPrediction(id: string): boolean {
  return id.startsWith(PREFIX);
}

/** What a prediction is shown with. */
export interface PredictionView {
  /** Makes paths absolute; without it they stay relative to the server. */
  readonly absolute?: (path: string) => string;
  /** The query of links that read. */
  readonly signature?: string | undefined;
  /** What the caller has just submitted: it is not read again later. */
  readonly input?: unknown;
  /** Of a task that is pending: the answer to a submission always says `starting`, after which clients poll. */
  readonly pendingAs?: "starting";
}

/**
 * A task as a prediction of Replicate's HTTP API, as JSON. A result that is JSON is its output; of any other the output is a link
 * to it.
 * @param seen the task, with its result
 */
export function predictionJson(seen: Inspection, view: PredictionView = {}): string {
  const { id, queue, state, createdMs, startedMs, finishedMs } = seen;
  const { absolute = (at: string) => at, signature = "", input = {}, pendingAs } = view;
  const pending = state !== "succeeded" && state !== "failed" && state !== "canceled";
  const document = {
    id,
    model: queue,
    version: queue,
    input,
    status: (pending && pendingAs) || STATUSES[state],
    error: errorOf(seen)?.message ?? null,
    logs: "",
    data_removed: seen.destroyed || seen.expired,
    created_at: timestamp(createdMs),
    started_at: timestamp(startedMs),
    completed_at: timestamp(finishedMs),
    metrics:
      finishedMs !== null && startedMs !== null ? { predict_time: Math.max(0, finishedMs - startedMs) / 1000 } : {},
    urls: { get: absolute(path(id)), cancel: absolute(`${path(id)}/cancel`) },
  };
  const output = state === "succeeded" ? outputOf(seen, absolute(paths.result(id, signature))) : "null";
  // Inserted as text: parsing and serializing it might change a number.
  return `${JSON.stringify(document).slice(0, -1)},"output":${output}}`;
}

/** The result as JSON, or as a link. */
function outputOf({ result, destroyed, expired }: Inspection, href: string): string {
  if (destroyed || expired) return "null";
  // One that was not read is too long.
  if (result === null) return JSON.stringify(href);
  if (result.body.length === 0) return "null";
  const text = Buffer.from(result.body).toString("utf8");
  if (/^application\/(?:json|[^;]+\+json)\s*(?:;|$)/i.test(result.contentType ?? "")) {
    try {
      JSON.parse(text);
      return text;
    } catch {
      // The body of a handler's Response need not match its media type.
    }
  }
  return JSON.stringify(href);
}
