import { type ErrorCode, errorEntry } from "../../errors.ts";
import { type ProblemDocument, problemDocument } from "./problem.ts";

/** What is said of a code to whoever meets it. */
interface ProblemText {
  /** What it means. */
  readonly meaning: string;
  /** What the caller should do. */
  readonly action: string;
  /** Detail and further members of an example. */
  readonly example?: { readonly detail?: string; readonly [member: string]: unknown };
}

const ID = "0198c2a4-6f0e-7c3b-9d55-1f0a2b3c4d5e";
const TASK = { id: ID, queue: "thumbnails" };
const ETA = { seconds: 3.1, low: 2.2, high: 4.6, basis: "history", samples: 184 };

/** Of every code of the catalogue. The pages `/problems/{code}` and docs/errors.md are made of this. */
const texts: Readonly<Record<ErrorCode, ProblemText>> = {
  "malformed-json": {
    meaning:
      "The body, or a line of a batch, cannot be read as JSON: it is empty, cut off, not UTF-8, or nested too deeply.",
    action: "Send valid JSON in UTF-8 with `Content-Type: application/json`. The detail says where reading stopped.",
    example: { detail: "Unexpected end of JSON input" },
  },
  "invalid-input": {
    meaning:
      "The body is JSON, but not what the handler of this queue accepts, or it holds a number that is too large for a double, such as 1e400. Nothing was stored.",
    action:
      "Correct what `errors` points to; it has the first hundred, and `moreErrors` says how many others there are. `input` of `GET /v1/queues/{queue}` is the schema.",
    example: {
      detail: "#/width: Too small: expected number to be >=1",
      errors: [{ pointer: "#/width", detail: "Too small: expected number to be >=1" }],
    },
  },
  "invalid-parameter": {
    meaning: "A query parameter, a header or a part of the path has a value that it may not have.",
    action: "Correct the one that the detail and `parameter` name.",
    example: { detail: "delay: expected seconds from 0 to 31622400", parameter: "delay" },
  },
  unauthenticated: {
    meaning: "This server has API keys, and the request showed none that is valid.",
    action: "Send `Authorization: Bearer KEY`, or use a signed link that has not expired.",
  },
  forbidden: {
    meaning:
      "The API key is valid, but its scopes do not cover this. Or a web page of another origin tried to change something.",
    action: "Use a key with one of the `scopes`; a page of another origin needs it to be listed in CORS_ORIGINS.",
    example: { detail: "This needs a key with the scope admin.", scopes: ["admin"] },
  },
  pending: {
    meaning:
      "The task is known and its result is not there yet: it waits, is scheduled, runs, or waits for another attempt.",
    action:
      "Ask again after `Retry-After` seconds, or watch `Operation-Location`. `index` says how many tasks start before this one.",
    example: {
      rel: "self",
      href: `/v1/requests/${ID}`,
      method: "GET",
      index: 11,
      ...TASK,
      state: "waiting",
      eta: ETA,
      links: [],
    },
  },
  unknown: {
    meaning: "No task has this id, or it is another caller's, or so much time has passed that it has been forgotten.",
    action: "Check the id. If the task was never accepted, submit it.",
    example: { id: ID, index: null },
  },
  "unknown-queue": {
    meaning:
      "No handler of this server serves a queue of this name, or it is a gateway's and was asked as if it were none, or the reverse.",
    action: "Check the name against `GET /v1/queues`; a gateway takes requests at `/v1/gateway/{queue}/` alone.",
    example: { queue: "thumbnials" },
  },
  "not-found": {
    meaning: "The path names no resource of this server.",
    action: "Check the path against `/openapi.json` or `/docs`.",
  },
  "method-not-allowed": {
    meaning: "The resource exists, but does not answer this method.",
    action: "Use one of the methods that the header `Allow` names.",
  },
  "id-conflict": {
    meaning:
      "The id belongs to another submission: one with another input, to another queue, or by another caller; or its task has begun.",
    action: "Submit under a fresh id, or repeat exactly what was sent before to get its answer.",
    example: { detail: "The id was used with another input.", id: ID },
  },
  "not-retryable": {
    meaning:
      "Only a dead task can be run again: one that failed with its attempts used up, or lost its workers too often, and whose work nobody has begun to undo.",
    action:
      "Look at `reason`. `not-dead`: it is in another `state`; what failed for good by the handler's own word, or succeeded, is submitted anew. `undone`: its handler has begun to undo what it did, or has done so; submit it anew.",
    example: { ...TASK, state: "succeeded", reason: "not-dead" },
  },
  canceled: {
    meaning: "The task was canceled; it has no result and never will.",
    action: "Submit it again under another id if it is wanted after all.",
    example: { ...TASK, state: "canceled", finishedAt: "2026-03-01T12:00:00.000Z" },
  },
  expired: {
    meaning: "The task has finished, but the time for which its result was kept is over.",
    action: "Submit it again if the result is still needed, and collect sooner than `expiredAt` the next time.",
    example: {
      ...TASK,
      state: "succeeded",
      finishedAt: "2026-03-01T12:00:00.000Z",
      expiredAt: "2026-03-01T13:00:00.000Z",
    },
  },
  deleted: {
    meaning: "The task has finished, and somebody destroyed its result.",
    action: "Submit it again if the result is still needed.",
    example: { ...TASK, state: "succeeded", finishedAt: "2026-03-01T12:00:00.000Z" },
  },
  "invalid-task": {
    meaning:
      "The task is of no more use: it failed, was canceled or destroyed, or its lease has gone to another worker; `reason` says which.",
    action: "Allocate a new id and start again; a worker whose lease is lost drops the work.",
    example: { id: ID, reason: "failed", error: { code: "task-failed", message: "Not an image" } },
  },
  "precondition-failed": {
    meaning:
      "If-Match or If-None-Match of a PUT or DELETE does not hold: with `If-None-Match: *` the id is taken, else the task is not of a version that was named. Nothing was changed.",
    action:
      "Look at the task, and decide anew; of a PUT that may have been carried out before, its result is at the id.",
    example: { id: ID, detail: "If-None-Match: the id is taken." },
  },
  "payload-too-large": {
    meaning: "The body, a line of a batch, or the batch as a whole is larger than this server takes.",
    action: "Send less at once: split a batch, or hand over a URL in place of the bytes.",
    example: { detail: "The body is larger than 1048576 bytes." },
  },
  "uri-too-long": {
    meaning: "The target of the request, its path and query together, is longer than this server reads.",
    action: "Send what is long in the body.",
    example: { detail: "The target is longer than 16384 characters." },
  },
  "unsupported-media-type": {
    meaning: "The handler of this queue does not take bodies of this Content-Type, charset or Content-Encoding.",
    action: "Send one of those that `accepts` and the header `Accept` name.",
    example: { detail: "The queue thumbnails accepts image/*, not text/plain.", accepts: ["image/*"] },
  },
  "wrong-host": {
    meaning:
      "The Host header names a host that this server does not answer to. A web page could otherwise point a name of its own at this machine (DNS rebinding) and act as one of ours.",
    action: "Ask under localhost, 127.0.0.1, [::1] or the address of HOST, or add the name to ALLOWED_HOSTS.",
  },
  "idempotency-conflict": {
    meaning: "This Idempotency-Key was used before, with another input.",
    action: "Use a fresh key for a new submission; repeat the old input to get the old answer.",
    example: { id: ID },
  },
  "rate-limited": {
    meaning:
      "This key, or this address, has sent more requests than RATE_LIMIT allows, or has MAX_STREAMS streams and long polls open.",
    action: "Wait for `Retry-After` seconds. The RateLimit headers of every answer tell how much is left.",
    example: { detail: "At most 100 requests in 60 s." },
  },
  "task-failed": {
    meaning:
      "The handler could not do the work: its attempts are used up, or it gave up and said why in the other members.",
    action: "Read title and detail. Submitting the same again helps only where the cause was a passing one.",
    example: { detail: "The address did not answer.", ...TASK, state: "failed" },
  },
  "task-timeout": {
    meaning: "Every attempt took longer than the handler's timeout.",
    action: "Submit something smaller, or ask the operator for a longer timeout.",
    example: { ...TASK, state: "failed" },
  },
  "worker-lost": {
    meaning: "The workers that ran the task died or fell silent, more often than a task may bring about.",
    action: "Do not send it again unchanged: it may be what brings the workers down. The operator can retry it.",
    example: { ...TASK, state: "failed" },
  },
  internal: {
    meaning: "Something happened that nobody foresaw. The log has it under the X-Request-Id of the answer.",
    action: "Try again later, and tell the operator that id.",
  },
  "queue-full": {
    meaning:
      "As many tasks wait in this queue as the server allows (MAX_WAITING), or as many deliveries of webhooks, where a submission has one: then `queue` is paihao.webhooks. Nothing was stored.",
    action: "Submit again after `Retry-After` seconds, by when a place should have come free.",
    example: { queue: "thumbnails", waiting: 1_000_000, scheduled: 0 },
  },
  "line-too-long": {
    meaning: "More tasks would start before this one than `maxIndex` allows. Nothing was stored.",
    action: "Submit again after `Retry-After` seconds, or with a larger `maxIndex`.",
    example: { queue: "thumbnails", index: 42, eta: ETA },
  },
  "store-unavailable": {
    meaning: "Redis did not answer in time. A submission may have been stored all the same.",
    action: "Send the same request again, under the same X-Request-Id or Idempotency-Key: it will not be run twice.",
  },
  "store-full": {
    meaning: "Redis is at its memory limit. Nothing was stored; what waits goes on being worked off.",
    action: "Submit again later. The operator can give Redis more memory or shorten RESULT_TTL.",
  },
  "not-durable": {
    meaning: "The task is stored, but the durability that this server promises (DURABILITY) was not confirmed in time.",
    action: "Submit again under the same id: it will not be run twice, and a 202 then means what it should.",
    example: { detail: "The task is stored and may run: submit it again under the same id.", ...TASK },
  },
  "resolver-unavailable": {
    meaning:
      "The host name of the webhook could not be looked up: name servers are silent or have trouble. Nothing was stored.",
    action: "Submit again after `Retry-After` seconds. If it stays so, the name servers of that host may be down.",
    example: { detail: "webhook: its host name does not resolve within 3000 ms", parameter: "webhook" },
  },
  "queue-paused": {
    meaning: "The queue of this gateway takes no work at present.",
    action: "Send the request again later, after `Retry-After` seconds.",
    example: { queue: "legacy-api" },
  },
  "sync-timeout": {
    meaning: "The request asked for the result at once, and the task is not finished. It goes on.",
    action: "Collect the result at `Location`. Submit with `Prefer: respond-async` to be answered at once.",
    example: { detail: "The task goes on: collect its result at Location.", ...TASK, state: "running" },
  },
};

/** What is known of a code, for a program to show and a person to read. */
export interface ProblemExplanation {
  readonly type: string;
  readonly code: ErrorCode;
  readonly status: number;
  readonly title: string;
  readonly meaning: string;
  readonly action: string;
  readonly example: ProblemDocument;
}

/** Explains a code of the catalogue. */
export function explain(code: ErrorCode): ProblemExplanation {
  const { status, title } = errorEntry(code);
  const { meaning, action, example: { detail, ...members } = {} } = texts[code];
  const example = problemDocument(code, detail, members);
  return { type: `/problems/${code}`, code, status, title, meaning, action, example };
}
