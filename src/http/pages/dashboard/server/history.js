/** The last hour of one or all queues, asked for less often than the figures of now. */

import { ask } from "./server.js";

/**
 * @param {string} path
 * @param {number} everyMs
 * @returns {(signal: AbortSignal) => Promise<any>} the answer of the server, whose form is decided by the path
 */
export function history(path, everyMs) {
  /** @type {any} */
  let known = null;
  let askedAt = Number.NEGATIVE_INFINITY;
  /** @type {Promise<any> | null} */
  let asking = null;

  /** @param {AbortSignal} signal */
  async function again(signal) {
    try {
      known = await ask(path, { signal });
      askedAt = performance.now();
      return known;
    } finally {
      asking = null;
    }
  }

  return async (signal) => {
    if (performance.now() - askedAt < everyMs) return known;
    asking ??= again(signal);
    return asking;
  };
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
