/** What a page knows of the server that it is from. */

/** Below which path this server is: "" at the root. Not in the addresses that the server writes into pages, which have it. */
export const prefix = document.documentElement.dataset.prefix ?? "";

/** A clock that seems to be set back by less is that of an answer which took long, ms. */
const LATE_MS = 20_000;

/** How far the server's clock is ahead of this one, ms; null before an answer. */
let aheadMs = /** @type {number | null} */ (null);

/**
 * Learns the time of the server, which wrote all times that pages show: the clock of this machine may be wrong. The latest of its answers
 * tells it best, since `Date` has no fractions, and answers need time.
 * @param {Response} response
 */
export function hearTime(response) {
  const ms = Date.parse(response.headers.get("Date") ?? "") - Date.now();
  if (aheadMs === null || ms > aheadMs || ms < aheadMs - LATE_MS) aheadMs = Number.isNaN(ms) ? aheadMs : ms;
}

/** Now, by the server's clock. */
export const now = () => new Date(Date.now() + (aheadMs ?? 0));
