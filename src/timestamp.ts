/** A time as RFC 3339 with milliseconds, UTC, as every document shows it; null stays null. */
export function timestamp(ms: number): string;
export function timestamp(ms: number | null): string | null;
export function timestamp(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
