/** A duration as people write it: `"500ms"`, `"30s"`, `"5m"`, `"1h"`, `"7d"`, or milliseconds as a number or digits. */
export type Duration = number | string;

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const FORM = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?$/;

/** The longest duration, ten years: sums of times stay within the integers that both Redis and JavaScript represent exactly. */
export const LONGEST_MS = 3650 * 86_400_000;
/** The longest time for a timer: setTimeout fires at once above 2^31 − 1 ms, 24.8 days. */
export const LONGEST_TIMER_MS = 24 * 86_400_000;

/** The form of a duration, for error messages. */
export const DURATION_FORM = 'a duration such as "500ms", "30s", "5m", "1h", "7d", or milliseconds';

/** The same, with bounds. */
export function durationWithin(minMs: number, maxMs: number): string {
  return `${DURATION_FORM}, at least ${formatDuration(minMs)} and at most ${formatDuration(maxMs)}`;
}

/** A duration in its largest whole unit: `"24d"`. */
export function formatDuration(ms: number): string {
  const unit = Object.keys(UNITS).findLast((name) => ms % (UNITS[name] ?? 1) === 0 && ms >= (UNITS[name] ?? 1)) ?? "s";
  return `${ms / (UNITS[unit] ?? 1)}${unit}`;
}

/**
 * Reads a duration; returns whole milliseconds ≥ 0, or undefined if it is invalid.
 * @param bare the unit of digits without one
 */
export function parseDuration(value: Duration, bare: "ms" | "s" = "ms"): number | undefined {
  let ms: number;
  if (typeof value === "number") {
    ms = value;
  } else {
    const match = FORM.exec(value.trim());
    if (!match) return undefined;
    ms = Number(match[1]) * (UNITS[match[2] ?? bare] ?? 1);
  }
  return ms >= 0 && Number.isSafeInteger(Math.round(ms)) ? Math.round(ms) : undefined;
}
