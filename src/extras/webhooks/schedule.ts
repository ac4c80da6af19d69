import { backoffMs, varied } from "../../backoff.ts";

/** When a failed delivery is retried. */
export const SCHEDULE = {
  /** Pause before the second attempt; each further one is twice as long. */
  baseMs: 3_000,
  maxMs: 3 * 3_600_000,
  /** A receiver may be unreachable for at least this long before the event is dead. */
  spanMs: 24 * 3_600_000,
  /** The longest Retry-After that is honoured. */
  longestRetryAfterMs: 6 * 3_600_000,
} as const;

/**
 * Milliseconds between a failed attempt (from 1) and the next, varied so that deliveries that failed together do not come back
 * together.
 * @param chance in [0, 1)
 */
export function pauseMs(attempt: number, chance: number): number {
  return Math.round(varied(backoffMs(SCHEDULE, attempt), chance));
}

/** The fewest attempts whose pauses cover the whole span even if each is as short as possible. */
function attemptsOver(spanMs: number): number {
  let attempts = 1;
  for (let waitedMs = 0; waitedMs < spanMs; attempts += 1) waitedMs += pauseMs(attempts, 0);
  return attempts;
}

/** Attempts before an event is dead. */
export const ATTEMPTS = attemptsOver(SCHEDULE.spanMs);
