import type { ErrorCode } from "../../errors.ts";

/** The explanation of a code for the caller who gets it. */
interface ProblemText {
  /** What it means. */
  readonly meaning: string;
  /** What the caller should do. */
  readonly action: string;
  /** Detail and further members of an example document. */
  readonly example?: { readonly detail?: string; readonly [member: string]: unknown };
}

const ID = "0198c2a4-6f0e-7c3b-9d55-1f0a2b3c4d5e";
const TASK = { id: ID, queue: "thumbnails" };
const ETA = { seconds: 3.1, low: 2.2, high: 4.6, basis: "history", samples: 184 };

/** One text for every code of the catalogue; the pages `/problems/{code}` and docs/errors.md are generated from it. */
export const texts: Readonly<Record<ErrorCode, ProblemText>> = {
  "malformed-json": {
    meaning:
      "The body, or a line of a batch, is not valid JSON: it is empty, cut off, not UTF-8, or nested too deeply.",
    action: "Send valid JSON in UTF-8 with `Content-Type: application/json`. The detail says where parsing stopped.",
    example: { detail: "Unexpected end of JSON input" },
  },
  "invalid-input": {
    meaning:
      "The body is JSON, but the handler of this queue does not accept it, or it contains a number too large for a double, such as 1e400. Nothing was stored.",
    action:
      "Correct what `errors` points to. It lists the first hundred; `moreErrors` is the number of further ones. The schema is the member `input` of `GET /v1/queues/{queue}`.",
    example: {
      detail: "#/width: Too small: expected number to be >=1",
      errors: [{ pointer: "#/width", detail: "Too small: expected number to be >=1" }],
    },
  },
  "invalid-parameter": {
    meaning: "A query parameter, a header or a part of the path has an invalid value.",
    action: "Correct the value that the detail and the member `parameter` name.",
    example: { detail: "delay: expected seconds from 0 to 31622400", parameter: "delay" },
  },
  unauthenticated: {
    meaning: "This server requires an API key, and the request has no valid one.",
    action: "Send `Authorization: Bearer KEY`, or use a signed link that has not expired.",
  },
  forbidden: {
    meaning:
      "The API key is valid, but its scopes do not allow this request. Or the request would change something and comes from a web page of another origin.",
    action: "Use a key with one of the `scopes`. For a web page of another origin, add that origin to CORS_ORIGINS.",
    example: { detail: "This needs an API key with the scope admin.", scopes: ["admin"] },
  },
  pending: {
    meaning: "The task exists but has no result yet: it is waiting, scheduled, running, or retrying.",
    action:
      "Ask again after `Retry-After` seconds, or watch `Operation-Location`. `index` is the number of tasks that start before this one.",
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
    meaning:
      "No task or group has this id, or it belongs to another caller, or it ended so long ago that its tombstone is gone too.",
    action: "Check the id. If the task was never accepted, submit it.",
    example: { id: ID, index: null },
  },
  "unknown-queue": {
    meaning:
      "This server has no handler for a queue of this name, or the queue is a gateway and the path is not a gateway's, or the other way round.",
    action: "Check the name against `GET /v1/queues`. A gateway takes requests only at `/v1/gateway/{queue}/`.",
    example: { detail: "There are default, thumbnails.", queue: "thumbnials" },
  },
  "not-found": {
    meaning: "This server has no resource at this path.",
    action: "Check the path against `/openapi.json` or `/docs`.",
  },
  "method-not-allowed": {
    meaning: "The resource exists, but does not support this method.",
    action: "Use one of the methods in the `Allow` header.",
  },
  "id-conflict": {
    meaning:
      "The id is taken by a submission with another input, to another queue or by another caller, or its task has already started. Of a batch: its group takes no more tasks.",
    action: "Submit under a new id, or repeat the first submission exactly to get its answer.",
    example: { detail: "The id was used with another input.", id: ID },
  },
  "not-retryable": {
    meaning:
      "Only a dead task can be retried: one that used up its attempts or lost its worker too often, and whose undo has not begun.",
    action:
      "Look at `reason`. `not-dead`: the task is in another `state`, or its handler gave up on it; submit it again as a new task. `undone`: the undo of the task has begun or is done; submit it again as a new task.",
    example: { ...TASK, state: "succeeded", reason: "not-dead" },
  },
  "not-running": {
    meaning:
      "Only a task of a queue of turns that has been called can be done, and only once: its turn has not come yet, or is over; or the `turn` of the request names another one.",
    action: "Look at `state`: wait while the task is waiting; stop the work if the turn is over.",
    example: { ...TASK, state: "waiting" },
  },
  "not-waiting": {
    meaning:
      "Only a task that waits in line or for its time can be moved; a place in line is only for one that waits in line. This one is in another `state`, or has left it in the meantime.",
    action: "Leave it, or cancel it and submit it again.",
    example: { ...TASK, state: "running" },
  },
  declared: {
    meaning: "A handler declares this schedule. It can be paused and run, but not changed or deleted.",
    action: "Change it in its handler. Once no live process declares it, it is an orphan and can be deleted.",
    example: { id: "reports.nightly" },
  },
  canceled: {
    meaning:
      "The task was canceled: by a caller; with `reason` `deadline`, because it had not ended by its deadline; or with `abandoned`, because nobody had looked at it for as long as its presence. It has no result.",
    action:
      "To run it after all, submit it again under another id: after a deadline with a later one, after `abandoned` with a longer presence or none.",
    example: { ...TASK, state: "canceled", finishedAt: "2026-03-01T12:00:00.000Z" },
  },
  expired: {
    meaning:
      "The task has ended, but its result was kept only for a limited time, and has expired. If its input is asked for, that is gone: it is kept as long as the result, or shorter if the handler says so.",
    action:
      "If you still need the result, submit the task again and collect the result before it expires (this one did at `expiredAt`).",
    example: {
      ...TASK,
      detail: "The result has expired.",
      state: "succeeded",
      finishedAt: "2026-03-01T12:00:00.000Z",
      expiredAt: "2026-03-01T13:00:00.000Z",
    },
  },
  deleted: {
    meaning: "The task has ended, and its result was deleted on request.",
    action: "If you still need the result, submit the task again.",
    example: { ...TASK, state: "succeeded", finishedAt: "2026-03-01T12:00:00.000Z" },
  },
  "invalid-task": {
    meaning:
      "The task can no longer be used: it failed, was canceled or deleted, or the worker has lost its lease. `reason` says which.",
    action: "Allocate a new id and start again. A worker that has lost its lease must stop working on the task.",
    example: { id: ID, reason: "failed", error: { code: "task-failed", message: "Not an image" } },
  },
  "precondition-failed": {
    meaning:
      "The condition in If-Match or If-None-Match of a PUT or DELETE is not met: with `If-None-Match: *`, the id is taken; otherwise, the task, group or schedule has another version. Nothing was changed.",
    action:
      "Get the current version and decide again. If you repeated a PUT whose answer was lost, the first one may have succeeded: look at the id.",
    example: { id: ID, detail: "If-None-Match: the id is taken." },
  },
  "payload-too-large": {
    meaning: "The body, a line of a batch, or the batch as a whole is larger than this server accepts.",
    action: "Send less at once: split the batch, or send a URL in place of the data.",
    example: { detail: "The body is larger than 1048576 bytes." },
  },
  "uri-too-long": {
    meaning: "The target of the request (path and query) is longer than this server accepts.",
    action: "Put long values in the body.",
    example: { detail: "The target is longer than 16384 characters." },
  },
  "unsupported-media-type": {
    meaning: "The handler of this queue does not accept this Content-Type, charset or Content-Encoding.",
    action: "Send a type that the member `accepts` and the `Accept` header list.",
    example: { detail: "The queue thumbnails accepts image/*, not text/plain.", accepts: ["image/*"] },
  },
  "wrong-host": {
    meaning:
      "The Host header names a host that this server does not serve. The check keeps web pages from reaching it through a name that they point at this machine (DNS rebinding).",
    action: "Use localhost, 127.0.0.1, [::1] or the address in HOST, or add the name to ALLOWED_HOSTS.",
    example: { detail: "tasks.example is not a host of this server; ALLOWED_HOSTS can list it." },
  },
  "idempotency-conflict": {
    meaning: "This Idempotency-Key was used before with another input.",
    action: "Use a new key for a new submission, or repeat the first input to get its answer.",
    example: { id: ID },
  },
  "rate-limited": {
    meaning:
      "This key (without keys: this address) has sent more requests than RATE_LIMIT allows, or has MAX_STREAMS event streams and long polls open; or the process searches lists of tasks for 8 requests already.",
    action: "Wait for `Retry-After` seconds. The RateLimit headers of every response say how much is left.",
    example: { detail: "At most 100 requests in 60 s." },
  },
  "too-many-tasks": {
    meaning:
      "As many of this caller's tasks wait in the queue as its handler allows (`limit`), in line, until a time, or for another attempt. Nothing was stored.",
    action: "Submit again after `Retry-After` seconds, when the first of them should start, or cancel one of them.",
    example: {
      detail: "At most 20 tasks of one caller may wait in this queue.",
      ...{ queue: "thumbnails", limit: 20, waiting: 20, running: 2 },
    },
  },
  "task-failed": {
    meaning: "The handler failed: it used up its attempts, or gave up; the other members then say why.",
    action: "Read title and detail. Submitting the task again helps only if the cause was temporary.",
    example: { detail: "The address did not answer.", ...TASK, state: "failed" },
  },
  "task-timeout": {
    meaning: "Every attempt took longer than the handler's timeout.",
    action: "Submit something smaller, or ask the operator for a longer timeout.",
    example: { ...TASK, state: "failed" },
  },
  "worker-lost": {
    meaning: "The task lost its worker too often: the processes that ran it died or stopped renewing its lease.",
    action:
      "Do not submit it again unchanged: the task itself may be what kills the workers. The operator can retry it.",
    example: { ...TASK, state: "failed" },
  },
  internal: {
    meaning: "An unexpected error happened. It is in the log, under the X-Request-Id of this response.",
    action: "Try again later, and give the operator that id.",
  },
  "queue-full": {
    meaning:
      "The queue has as many waiting tasks as the server allows (MAX_WAITING). If `queue` is paihao.webhooks, as many webhook deliveries are waiting, and only submissions with a webhook are refused. Nothing was stored.",
    action: "Submit again after `Retry-After` seconds: there should be room by then.",
    example: { queue: "thumbnails", waiting: 1_000_000, scheduled: 0 },
  },
  "line-too-long": {
    meaning: "More tasks would start before this one than `maxIndex` allows. Nothing was stored.",
    action: "Submit again after `Retry-After` seconds, or with a larger `maxIndex`.",
    example: { queue: "thumbnails", index: 42, eta: ETA },
  },
  "store-unavailable": {
    meaning: "Redis did not answer in time. A submission may have been stored anyway.",
    action: "Send the same request again under the same X-Request-Id or Idempotency-Key: the task is not stored twice.",
  },
  "store-full": {
    meaning: "Redis is at its memory limit. Nothing was stored; tasks that are already waiting still run.",
    action:
      "Submit again later. The operator can give Redis more memory, shorten RESULT_TTL, or drop inputs early (keepInput: false).",
  },
  "not-durable": {
    meaning: "The task is stored, but the configured durability (DURABILITY) was not confirmed in time.",
    action: "Submit again under the same id: the task is not stored twice, and a 202 then confirms the durability.",
    example: { detail: "The task is stored and may run: submit it again under the same id.", ...TASK },
  },
  "resolver-unavailable": {
    meaning:
      "The host name of the webhook could not be resolved: its name servers did not answer or returned an error. Nothing was stored.",
    action: "Submit again after `Retry-After` seconds. If this goes on, the name servers of that host may be down.",
    example: { detail: "webhook: its host name does not resolve within 3000 ms", parameter: "webhook" },
  },
  "queue-paused": {
    meaning: "The queue of this gateway is paused.",
    action: "Send the request again after `Retry-After` seconds.",
    example: { queue: "legacy-api" },
  },
  "no-answer": {
    meaning: "The API behind the gateway could not be reached, or its answer broke off.",
    action:
      "If `mayHaveBeenCarriedOut` is false, nothing was sent: send the request again. If it is true, find out first what the API has done.",
    example: { detail: "The request may have been carried out. (ECONNRESET)", mayHaveBeenCarriedOut: true },
  },
  "answer-timeout": {
    meaning: "The API behind the gateway did not begin its answer within the gateway's `timeout`.",
    action: "Find out what the API has done before you send the request again.",
    example: { detail: "The request may have been carried out. (timeout)", mayHaveBeenCarriedOut: true },
  },
  "turn-over": {
    meaning: "The turn of the request was ended by an operator, or had lasted as long as any may.",
    action: "Send the request again, unless `mayHaveBeenCarriedOut` is true and that would do harm.",
    example: { detail: "The request may have been carried out.", mayHaveBeenCarriedOut: true },
  },
  stopping: {
    meaning: "The server stops; the request has lost its place in line.",
    action: "Send the request again after `Retry-After` seconds.",
    example: {},
  },
  "sync-timeout": {
    meaning: "The request waited for the result, but the task did not end within the time limit. The task continues.",
    action:
      "Collect the result at `Location`. Submit with `Prefer: respond-async` to get a 202 at once. With `X-Should-Retry: false`, the same request again would be another task.",
    example: { detail: "The task continues: collect its result at Location.", ...TASK, state: "running" },
  },
};
