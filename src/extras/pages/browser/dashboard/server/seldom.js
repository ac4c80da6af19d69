/** What changes little is asked for less often than current figures. */

import { ask } from "./server.js";

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
