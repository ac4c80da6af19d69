/**
 * Polls, but not while the tab is hidden, more slowly while the server does not answer, and with at most half of the caller's
 * rate limit.
 */

import { useEffect, useState } from "../preact.js";
import { limit, ServerError } from "./api.js";
import { useDesk } from "./desk.js";

const EVERY_MS = 2000;
const MAX_MS = 30_000;

/** Where the page is. */
export const address = () => location.pathname + location.search;

/**
 * What the server answered last, at which address, and what went wrong since. It is asked at once when the address changes, and after every action.
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} load
 */
export function usePolled(load) {
  const { turn, addTrouble } = useDesk();
  const [{ known, of, error }, set] = useState({
    known: /** @type {T | null} */ (null),
    of: "",
    error: /** @type {unknown} */ (null),
  });
  useEffect(() => (error === null ? undefined : addTrouble(error)), [error]);
  useEffect(() => {
    let asking = new AbortController();
    let failures = 0;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;

    async function look() {
      if (document.hidden) return;
      const { signal } = asking;
      const of = address();
      let retryAfterMs = 0;
      try {
        const answer = await load(signal);
        if (signal.aborted) return;
        failures = 0;
        set({ known: answer, of, error: null });
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        if (error instanceof ServerError) ({ retryAfterMs } = error);
        set(({ known, of }) => ({ known, of, error }));
      }
      const backoff = Math.min(MAX_MS, EVERY_MS * 2 ** failures);
      timer = setTimeout(() => void look(), Math.max(backoff, retryAfterMs, limit.waitMs()));
    }

    function stop() {
      asking.abort();
      clearTimeout(timer);
    }

    function start() {
      stop();
      asking = new AbortController();
      void look();
    }

    start();
    document.addEventListener("visibilitychange", start);
    return () => {
      document.removeEventListener("visibilitychange", start);
      stop();
    };
  }, [turn, location.pathname, location.search]);
  return { known, of, error };
}
