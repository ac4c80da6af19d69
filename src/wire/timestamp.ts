/** The last time that a Date can hold, ms. */
const LAST_MS = 8.64e15;

/** A time as RFC 3339 with milliseconds, UTC, as every document shows it; null stays null. An invalid time is shown as 1970. */
export function timestamp(ms: number): string;
export function timestamp(ms: number | null): string | null;
export function timestamp(ms: number | null): string | null {
  return ms === null ? null : new Date(Math.abs(ms) <= LAST_MS ? ms : 0).toISOString();
}
