/** When a delivery that failed is tried again. */
export const SCHEDULE = {
  /** Before the second attempt; each later pause is twice the one before. */
  firstMs: 3_000,
  longestMs: 3 * 3_600_000,
  /** Each pause is drawn from this much around it, so that what failed together does not come back together. */
  spread: 0.2,
  /** For so long, at least, a receiver may be away before the event is dead. */
  spanMs: 24 * 3_600_000,
  /** A receiver that asks for more patience than this is asked again all the same. */
  longestRetryAfterMs: 6 * 3_600_000,
} as const;

/**
 * Milliseconds between an attempt (from 1) that failed and the next.
 * @param chance in [0, 1)
 */
export function pauseMs(attempt: number, chance: number): number {
  const { firstMs, longestMs, spread } = SCHEDULE;
  const full = Math.min(longestMs, firstMs * 2 ** Math.min(attempt - 1, 30));
  return Math.round(full * (1 - spread + 2 * spread * chance));
}

/** The fewest attempts whose pauses last the whole span even when chance makes each as short as it can be. */
function attemptsOver(spanMs: number): number {
  let attempts = 1;
  for (let waitedMs = 0; waitedMs < spanMs; attempts += 1) waitedMs += pauseMs(attempts, 0);
  return attempts;
}

/** Attempts before an event is dead. */
export const ATTEMPTS = attemptsOver(SCHEDULE.spanMs);
