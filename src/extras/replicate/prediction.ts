import { createHash } from "node:crypto";
import { z } from "zod";
import { beforeMember, resultJson } from "../../engine/tasks/result.ts";
import type { Inspection } from "../../engine/watch/inspect.ts";
import type { StartingServer } from "../../extension.ts";
import { pathTo } from "../../http/route.ts";
import { taskLinks } from "../../http/task/links.ts";
import { errorOf } from "../../http/task/task-document.ts";
import type { Result, State } from "../../task.ts";
import { type Document, flag, seconds, text, time, timestamp } from "../../wire/document.ts";

/** A prediction of Replicate's HTTP API, which describes it. */
export const prediction = z.object({
  id: text,
  model: text,
  version: text,
  input: z.unknown(),
  status: z.enum(["starting", "processing", "succeeded", "failed", "canceled"]),
  output: z.unknown(),
  error: text.nullable(),
  logs: text,
  data_removed: flag,
  created_at: time,
  started_at: time.nullable(),
  completed_at: time.nullable(),
  metrics: z.object({ predict_time: seconds.exactOptional() }),
  urls: z.object({ get: text, cancel: text }),
});
type Prediction = Document<typeof prediction>;

/** The ids of predictions begin with this, so that the webhook of their end has the form that the caller expects. */
const PREFIX = "prediction-";
/** As long as an id may be. */
const LONGEST_ID = 128;

/** The statuses of the dialect. */
const STATUSES: Readonly<Record<State, Prediction["status"]>> = {
  waiting: "starting",
  scheduled: "starting",
  retrying: "starting",
  running: "processing",
  succeeded: "succeeded",
  failed: "failed",
  canceled: "canceled",
};

/** The route of a prediction, as the router writes it. */
export const PREDICTION_PATH = "/replicate/v1/predictions/:id";

const path = pathTo(PREDICTION_PATH);

/**
 * The id of the prediction that a request submits, one for each request id.
 * @param keyed the queue, if the request id comes from an Idempotency-Key: that id does not depend on the queue, which the body
 * may name
 */
export function predictionId(requestId: string, keyed?: string): string {
  const id = PREFIX + requestId;
  if (keyed === undefined && id.length <= LONGEST_ID) return id;
  const text = keyed === undefined ? requestId : `${requestId} ${keyed}`;
  return PREFIX + createHash("sha256").update(text).digest("base64url");
}

/** Whether a task was submitted as a prediction. */
function isPrediction(id: string): boolean {
  return id.startsWith(PREFIX);
}

/** What a prediction is shown with. */
export interface PredictionView {
  /** Makes a link of a path; without it paths stay relative to the server. */
  readonly link?: (path: string) => string;
  /** Where its result is. */
  readonly result?: string;
  /** What the caller has just submitted, so that it need not be read again. */
  readonly input?: unknown;
  /** The status of a pending task. The answer to a submission always says `starting`, which makes clients poll. */
  readonly pendingAs?: "starting";
}

/** A task as a prediction without its output, and the link that replaces an output that is not JSON. */
export function predictionOf(
  seen: Inspection,
  view: PredictionView = {},
): { readonly document: Omit<Prediction, "output">; readonly href: string } {
  const { id, queue, state, createdMs, startedMs, finishedMs } = seen;
  const { link = (at: string) => at, result = taskLinks(id).result, input = {}, pendingAs } = view;
  const pending = state !== "succeeded" && state !== "failed" && state !== "canceled";
  const document = {
    id,
    model: queue,
    version: queue,
    input,
    status: (pending && pendingAs) || STATUSES[state],
    error: errorOf(seen)?.message ?? null,
    logs: "",
    data_removed: seen.deleted || seen.expired,
    created_at: timestamp(createdMs),
    started_at: timestamp(startedMs),
    completed_at: timestamp(finishedMs),
    metrics:
      finishedMs !== null && startedMs !== null ? { predict_time: Math.max(0, finishedMs - startedMs) / 1000 } : {},
    urls: { get: link(path(id)), cancel: link(`${path(id)}/cancel`) },
  };
  return { document, href: result };
}

/** The result of a task, which is the output of its prediction; null if there is none. */
export function outputOf({ state, result, deleted, expired }: Inspection): Result | null {
  return state === "succeeded" && !deleted && !expired ? result : null;
}

/**
 * A prediction as JSON. Its output is the result if that is JSON, otherwise, or if the result is too long to be read, a link to
 * it.
 */
function predictionJson(seen: Inspection, view: PredictionView = {}): string {
  const { document, href } = predictionOf(seen, view);
  const isThere = seen.state === "succeeded" && !seen.deleted && !seen.expired;
  const output = !isThere || seen.result?.body.length === 0 ? "null" : JSON.stringify(href);
  const json = isThere && seen.result ? resultJson(seen.result, Number.POSITIVE_INFINITY) : undefined;
  return `${beforeMember(JSON.stringify(document), "output")}${json ?? output}}`;
}

/** The body of the event about the end of a task that came as a prediction; undefined for any other. */
export const predictionEvent =
  ({ config, signer }: Pick<StartingServer, "config" | "signer">) =>
  (seen: Inspection): string | undefined =>
    config.replicate && isPrediction(seen.id)
      ? predictionJson(seen, { result: taskLinks(seen.id, signer?.sign("task", seen)).result })
      : undefined;
