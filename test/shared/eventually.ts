import { setTimeout as delay } from "node:timers/promises";

/**
 * Tries until `attempt` neither throws nor returns false, and returns what it then returned.
 * @throws what the last try threw, when the time is over
 */
export async function eventually<T>(attempt: () => T | Promise<T>, timeoutMs = 45_000): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    try {
      const value = await attempt();
      if (value !== false) return value;
      if (performance.now() > deadline) throw new Error(`still false after ${timeoutMs} ms`);
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
    await delay(10);
  }
}
