/** Asks again and again, but not while the tab is hidden, and more slowly while the server does not answer. */

const EVERY_MS = 2000;
const MOST_MS = 30_000;

/**
 * @param {(signal: AbortSignal) => Promise<boolean>} look resolves with whether it went well; aborted when started anew
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
    const went = await look(signal);
    if (signal.aborted) return;
    failures = went ? 0 : failures + 1;
    timer = setTimeout(() => void turn(), Math.min(MOST_MS, EVERY_MS * 2 ** failures));
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
