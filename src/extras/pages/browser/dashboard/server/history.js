/** The history of one or all queues: of the last hour, day or week, as the address says. */

import { options } from "../address.js";
import { seldom } from "./seldom.js";

export const SPANS = /** @type {const} */ (["hour", "day", "week"]);

/** How far back charts go. */
export const shownSpan = () => SPANS.find((span) => span === options().get("span")) ?? "hour";

/**
 * What asks for it.
 * @param {string} path
 * @param {number} step of the last hour, s
 * @param {number} everyMs how often the last hour is asked for at most
 * @returns {(signal: AbortSignal) => Promise<any>} the answer of the server, whose form is decided by the path
 */
export function pastOf(path, step, everyMs) {
  const asks = {
    hour: seldom(`${path}?step=${step}`, everyMs),
    day: seldom(`${path}?minutes=1440&step=300`, 60_000),
    week: seldom(`${path}?minutes=10080&step=3600`, 300_000),
  };
  return (signal) => asks[shownSpan()](signal);
}

/**
 * Adds up a figure of several queues.
 * @param {readonly import("./wire.js").Series[]} queues
 * @param {number} length
 * @returns {(figure: "waiting" | "started" | "finished" | "failed") => number[]}
 */
export function sumOf(queues, length) {
  return (figure) => Array.from({ length }, (_, i) => queues.reduce((sum, queue) => sum + (queue[figure][i] ?? 0), 0));
}
