/**
 * The words on the page of a task. The server writes them into the page, and the script of the page keeps them up to date.
 */

import { about, allowed, count, percentage, range, starting } from "../words.js";

/** @typedef {import("../../../../wire/task.ts").Task} Task */

/** How long an estimate counts as current after its time has come, seconds. */
const FRESH_S = 15;

/** @type {Readonly<Record<string, string>>} */
const HEADLINES = {
  waiting: "Place in line",
  scheduled: "Scheduled for later",
  running: "In progress",
  retrying: "Waiting to try again",
  succeeded: "Done",
  expired: "Expired",
  failed: "Failed",
  canceled: "Canceled",
};

/** @param {string} state */
export const hasEnded = (state) => ["succeeded", "failed", "canceled"].includes(state);

/**
 * Whether its result has expired.
 * @param {Task} task
 */
const isExpired = ({ state, links }) => state === "succeeded" && !links.some(({ rel }) => rel === "result");

/**
 * What the page shows as state: that of the task, or `expired`.
 * @param {Task} task
 */
export const lookOf = (task) => (isExpired(task) ? "expired" : task.state);

/** @param {Task} task */
export const headlineOf = (task) =>
  task.cancelRequested && task.state === "running" ? "Stopping" : (HEADLINES[lookOf(task)] ?? task.state);

/**
 * The text of the link to the result; "" while there is none.
 * @param {Task} task
 */
export const collectOf = (task) => (lookOf(task) === "succeeded" ? "Open the result" : "");

/**
 * The large number: the place in line, or the progress.
 * @param {Task} task
 */
export function numberOf(task) {
  if (task.state === "waiting" && task.index !== null) return count(task.index + 1);
  if (task.state === "running" && task.progress) return percentage(task.progress.percent);
  return "";
}

/**
 * Whether a number must be smaller to fit.
 * @param {string} number
 */
export const isLong = (number) => number.length > 3;

/** @param {Task} task */
export function aheadOf(task) {
  if (task.state !== "waiting" || task.index === null) return "";
  if (task.index === 0) return "Next in line";
  const before = `${count(task.index)} before this one`;
  return task.eta?.rate ? `${allowed(task.eta.rate)} allowed, ${before}` : before;
}

/** @param {Task} task */
export function attemptOf(task) {
  const { state, attempt, maxAttempts } = task;
  // An attempt that the handler postpones does not count.
  if (attempt === 0) return "";
  if (state === "retrying") return `Attempt ${attempt} of ${maxAttempts} did not succeed`;
  if (state === "running" && attempt > 1) return `Attempt ${attempt} of ${maxAttempts}`;
  if (state === "failed" && attempt > 1) return `After ${attempt} attempts`;
  return "";
}

/** @param {Task} task */
export function detailOf(task) {
  if (task.error) return task.error.message;
  if (isExpired(task)) return "It succeeded, but its result has expired.";
  if (task.held && task.state === "waiting") return "Waits for a task with the same key to end";
  return task.progress?.message ?? "";
}

/**
 * When the task starts, as a range.
 * @param {Task} task
 * @param {number} agoS how long ago the estimate was made, seconds
 */
export function waitOf(task, agoS = 0) {
  const { eta, state } = task;
  if (!eta || hasEnded(state) || state === "running") return "";
  const left = eta.seconds - agoS;
  // An old estimate may no longer be true.
  if (left <= 0) return agoS < FRESH_S ? "Any moment now" : "";
  if (eta.basis === "starting") return capital(starting(left));
  return `${state === "retrying" ? "Tries again" : "Starts"} in ${range(eta, agoS) || `about ${about(left)}`}`;
}

/** @param {string} text */
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** @param {Task} task */
export function titleOf(task) {
  const number = numberOf(task);
  if (number === "") return `${headlineOf(task)} · ${task.queue}`;
  return task.state === "waiting" ? `Place ${number} · ${task.queue}` : `${number} · ${task.queue}`;
}
