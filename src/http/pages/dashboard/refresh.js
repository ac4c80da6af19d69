/**
 * Asks again and again, but not while the tab is hidden, more slowly while the server does not answer, and so that the better half of
 * the caller's rate limit stays for what it is meant for.
 */

import { limit, ServerError } from "./server/server.js";

const EVERY_MS = 2000;
const MOST_MS = 30_000;

/**
 * @param {(signal: AbortSignal) => Promise<unknown>} look resolves with what went wrong, or null; aborted when started anew
 * @returns {{ start(): void }} which looks at once, and from then on
 */
export function refresher(look) {
  let current = new AbortController();
  let failures = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  async function turn() {
    const { signal } = current;
    if (document.hidden) return;
    const error = await look(signal);
    if (signal.aborted) return;
    failures = error === null ? 0 : failures + 1;
    const asked = error instanceof ServerError ? error.retryAfterMs : 0;
    const backoff = Math.min(MOST_MS, EVERY_MS * 2 ** failures);
    timer = setTimeout(() => void turn(), Math.max(backoff, asked, limit.waitMs()));
  }

  function start() {
    current.abort();
    clearTimeout(timer);
    current = new AbortController();
    void turn();
  }

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      current.abort();
      clearTimeout(timer);
    } else start();
  });
  return { start };
}
