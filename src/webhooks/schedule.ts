/** When a failed delivery is retried. */
export const SCHEDULE = {
  /** Pause before the second attempt; each further one is twice as long. */
  firstMs: 3_000,
  longestMs: 3 * 3_600_000,
  /** Random variation of each pause, so that deliveries that failed together are not retried together. */
  spread: 0.2,
  /** A receiver may be unreachable for at least this long before the event is dead. */
  spanMs: 24 * 3_600_000,
  /** The longest Retry-After that is honoured. */
  longestRetryAfterMs: 6 * 3_600_000,
} as const;

/**
 * Milliseconds between a failed attempt (from 1) and the next.
 * @param chance in [0, 1)
 */
export function pauseMs(attempt: number, chance: number): number {
  const { firstMs, longestMs, spread } = SCHEDULE;
  const full = Math.min(longestMs, firstMs * 2 ** Math.min(attempt - 1, 30));
  return Math.round(full * (1 - spread + 2 * spread * chance));
}

/** The fewest attempts whose pauses cover the whole span even if each is as short as possible. */
function attemptsOver(spanMs: number): number {
  let attempts = 1;
  for (let waitedMs = 0; waitedMs < spanMs; attempts += 1) waitedMs += pauseMs(attempts, 0);
  return attempts;
}

/** Attempts before an event is dead. */
export const ATTEMPTS = attemptsOver(SCHEDULE.spanMs);
