/** Pauses between tries: the first, and the longest. */
interface Backoff {
  readonly baseMs: number;
  readonly maxMs: number;
}

/**
 * Milliseconds between a failed try (from 1) and the next: base·2^(attempt−1) up to max. Half of it is random where chance is given, so
 * that what failed together is not tried again together.
 * @param chance in [0, 1)
 */
export function backoffMs({ baseMs, maxMs }: Backoff, attempt: number, chance = 1): number {
  const full = Math.min(maxMs, baseMs * 2 ** Math.min(attempt - 1, 30));
  return Math.round(full / 2 + (full / 2) * chance);
}

/**
 * A time ± 20 %, so that processes do not run in step.
 * @param chance in [0, 1)
 */
export function varied(ms: number, chance = Math.random()): number {
  return ms * (0.8 + 0.4 * chance);
}
