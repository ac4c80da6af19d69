/** Requests to the server, with the API key that a person has entered, and its answers. */

import { hearTime, prefix } from "../server.js";

/**
 * What the server answers.
 *
 * @typedef {import("../../../../wire/task.ts").Eta} Eta
 * @typedef {import("../../../../wire/queue.ts").Queue} Queue
 * @typedef {import("../../../../wire/operations.ts").Access} Access
 * @typedef {import("../../../../wire/task.ts").Task} Task
 * @typedef {import("../../../../wire/task.ts").ListedTask} ListedTask
 * @typedef {import("../../../../wire/document.ts").Page<ListedTask>} Page
 * @typedef {import("../../../../wire/task.ts").Search} Search
 * @typedef {import("../../../../wire/task.ts").Timeline} Timeline
 * @typedef {import("../../../../wire/task.ts").Attempt} Attempt
 * @typedef {import("../../../../wire/task.ts").Shown} Shown
 * @typedef {import("../../../../wire/queue.ts").Histories} History
 * @typedef {import("../../../../wire/queue.ts").History} QueueHistory
 * @typedef {import("../../../../wire/queue.ts").Series} Series
 * @typedef {import("../../../../wire/operations.ts").Worker} Worker
 * @typedef {import("../../../schedules/wire.ts").Schedule} Schedule
 * @typedef {import("../../../../wire/operations.ts").DeploymentEvent} DeploymentEvent
 * @typedef {import("../../../../wire/operations.ts").Incident} Incident
 * @typedef {import("../../../../wire/queue.ts").BulkStep} BulkStep
 * @typedef {import("../../../../wire/queue.ts").Callers} Callers
 * @typedef {import("../../../../wire/queue.ts").CallerCounts} CallerCounts
 * @typedef {import("../../../../wire/queue.ts").DeadErrors} DeadErrors
 * @typedef {import("../../../../wire/queue.ts").DeadError} DeadError
 */

const KEY = "paihao.key";
const TIMEOUT_MS = 15_000;

/** The key, for as long as the tab is open. */
export const key = {
  get: () => sessionStorage.getItem(KEY) ?? "",
  /** @param {string} value */
  set: (value) => (value === "" ? sessionStorage.removeItem(KEY) : sessionStorage.setItem(KEY, value)),
};

/** What is left of the caller's rate limit, by the last answer; null if there is no limit. */
export const limit = {
  max: 0,
  left: 0,
  resetAt: 0,

  /** @param {Headers} headers */
  read(headers) {
    const [, max] = /;q=(\d+)/.exec(headers.get("RateLimit-Policy") ?? "") ?? [];
    const [, left, resetS] = /;r=(\d+);t=(\d+)/.exec(headers.get("RateLimit") ?? "") ?? [];
    if (max === undefined || left === undefined) return;
    Object.assign(limit, { max: Number(max), left: Number(left) });
    limit.resetAt = Date.now() + Number(resetS) * 1000;
  },

  /** How long not to poll, ms: half of the limit is left for the caller's other requests. */
  waitMs: () => (limit.left * 2 < limit.max ? Math.max(0, limit.resetAt - Date.now()) : 0),
};

/** What the server answered instead of what was asked for; status 0 if it did not answer. */
export class ServerError extends Error {
  /**
   * @param {number} status
   * @param {string} message
   * @param {Record<string, any>} [problem]
   * @param {number} [retryAfterMs] when the server wants to be asked again
   */
  constructor(status, message, problem = {}, retryAfterMs = 0) {
    super(message);
    this.status = status;
    this.problem = problem;
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * @typedef {object} Asked
 * @property {string} [method]
 * @property {unknown} [json] the body, as JSON
 * @property {BodyInit} [body] the body as it is
 * @property {Record<string, string>} [headers]
 * @property {AbortSignal | undefined} [signal]
 * @property {boolean} [long] may take longer than usual
 */

/**
 * An answer, whatever its status.
 * @param {string} path
 * @param {Asked} [asked]
 */
export async function send(path, { method = "GET", json, body, headers = {}, signal, long = false } = {}) {
  const timeout = long ? [] : [AbortSignal.timeout(TIMEOUT_MS)];
  const given = key.get();
  try {
    const response = await fetch(prefix + path, {
      method,
      headers: {
        // Says that an operator looks, which keeps no task that waits for its caller.
        "X-Requested-With": "paihao-dashboard",
        ...(given === "" ? {} : { Authorization: `Bearer ${given}` }),
        ...(json === undefined ? {} : { "Content-Type": "application/json" }),
        ...headers,
      },
      body: json === undefined ? (body ?? null) : JSON.stringify(json),
      cache: "no-store",
      credentials: "omit",
      signal: AbortSignal.any([...timeout, ...(signal ? [signal] : [])]),
    });
    hearTime(response);
    limit.read(response.headers);
    return response;
  } catch (error) {
    if (signal?.aborted) throw error;
    const isLate = error instanceof DOMException && error.name === "TimeoutError";
    throw new ServerError(0, isLate ? "The server takes too long to answer." : "The server cannot be reached.");
  }
}

/**
 * The JSON of an answer; its form is decided by the path.
 * @param {string} path
 * @param {Asked} [asked]
 * @returns {Promise<any>}
 * @throws {ServerError} unless the server answers 2xx
 */
export async function ask(path, asked) {
  const response = await send(path, asked);
  if (!response.ok) throw await errorOf(response);
  return response.status === 204 ? null : response.json();
}

/**
 * The error that an answer stands for.
 * @param {Response} response
 */
export async function errorOf(response) {
  const problem = await response.json().catch(() => ({}));
  const message = [problem.detail, problem.title].find((text) => typeof text === "string" && text !== "");
  const retryAfterMs = Number(response.headers.get("Retry-After") ?? 0) * 1000 || 0;
  return new ServerError(response.status, message ?? `The server answered ${response.status}.`, problem, retryAfterMs);
}

/**
 * Asks when it is called, but at most this often: in between it returns the previous answer.
 * @param {string} path
 * @param {number} everyMs
 * @returns {(signal: AbortSignal) => Promise<any>} the answer of the server, whose form is decided by the path
 */
export function seldom(path, everyMs) {
  /** @type {any} */
  let known = null;
  let askedAt = Number.NEGATIVE_INFINITY;
  return async (signal) => {
    if (performance.now() - askedAt < everyMs) return known;
    known = await ask(path, { signal });
    askedAt = performance.now();
    return known;
  };
}

/** @param {unknown} error */
export const messageOf = (error) => (error instanceof Error ? error.message : String(error));
