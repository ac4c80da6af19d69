/** The client of a Paihao server, for Node and browsers. */
export type { Queue, QueueAction } from "../wire/queue.ts";
export type { Eta, Link, Output, Progress, Quote, TaskAction } from "../wire/task.ts";
export type { BatchOptions, GroupOptions, Refusal, SubmittedGroup, Verdict } from "./batch.ts";
export {
  type ClientOptions,
  PaihaoClient,
  type ResultOptions,
  type RunOptions,
  type TaskRef,
  type WaitOptions,
} from "./client.ts";
export type { Bytes, InputOf, QueueName, ResultOf } from "./handler-types.ts";
export {
  type ErrorKind,
  PaihaoError,
  type Problem,
  TaskCanceled,
  TaskExpired,
  TaskFailed,
  TaskUnknown,
} from "./problem.ts";
export type { Accepted, Status } from "./status.ts";
export type { SubmitOptions } from "./submission.ts";
export type { Duration } from "./time.ts";
export type { Turn, TurnOptions } from "./turn.ts";
export { verifyWebhook, type WebhookEvent, type WebhookRequest } from "./webhook.ts";
