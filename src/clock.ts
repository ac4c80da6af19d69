/** Where the time comes from; tests set their own. Redis has its own clock (TIME), which alone orders tasks. */
export interface Clock {
  /** Milliseconds since 1970, UTC. */
  now(): number;
}

/** The clock of this machine. */
export const systemClock: Clock = { now: () => Date.now() };

/** A time as RFC 3339 with milliseconds, UTC, as every document shows it; null stays null. */
export function timestamp(ms: number): string;
export function timestamp(ms: number | null): string | null;
export function timestamp(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
