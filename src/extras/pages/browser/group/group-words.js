/**
 * The words on the page of a group. The server writes them into the page, and the script of the page keeps them up to date.
 */

import { about, count, counted, percentage } from "../words.js";

/** @typedef {import("../../../../wire/group.ts").Group} Group */

/** @param {Group} group */
export const hasEnded = ({ state }) => state === "done" || state === "canceled";

/** What the style of the page goes by. @param {Group} group */
export function lookOf({ state, failed }) {
  if (state === "canceled") return "canceled";
  if (state !== "done") return "running";
  return failed > 0 ? "failed" : "succeeded";
}

/** @param {Group} group */
export function headlineOf({ state, failed, cancelRequested }) {
  if (state === "canceled") return "Canceled";
  if (state === "done") return failed > 0 ? `Done, ${count(failed)} failed` : "Done";
  if (cancelRequested) return "Stopping";
  return state === "open" ? "Open for more tasks" : "In progress";
}

/** The large number: how much of it has ended. @param {Group} group */
export const numberOf = ({ progress }) => percentage(progress.percent);

/** @param {Group} group */
export function endedOf({ total, succeeded, failed, canceled }) {
  return `${count(succeeded + failed + canceled)} of ${counted(total, "task")}`;
}

/** How many tasks are in each state; states without tasks are left out. @param {Group} group */
export function countsOf(group) {
  const states = /** @type {const} */ ([
    "waiting",
    "scheduled",
    "running",
    "retrying",
    "succeeded",
    "failed",
    "canceled",
  ]);
  const counts = states.filter((state) => group[state] > 0).map((state) => `${count(group[state])} ${state}`);
  return counts.join(", ");
}

/** The place of its last task. @param {Group} group */
export const placeOf = ({ index }) => (index === null ? "" : `The last is at place ${count(index + 1)} in line`);

/**
 * When its last task will have ended.
 * @param {Group} group
 * @param {number} agoS how long ago the estimate was made, seconds
 */
export function waitOf(group, agoS = 0) {
  const { eta } = group;
  if (!eta || hasEnded(group)) return "";
  const left = eta.seconds - agoS;
  const start = eta.basis === "starting" ? "A worker is starting; done in" : "Done in";
  return left <= 0 ? "Done any moment now" : `${start} about ${about(left)}`;
}

/** @param {Group} group */
export const titleOf = (group) => `${hasEnded(group) ? headlineOf(group) : numberOf(group)} · ${group.queue}`;
