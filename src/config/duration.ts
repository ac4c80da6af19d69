/** A duration as people write it: `"500ms"`, `"30s"`, `"5m"`, `"1h"`, `"7d"`, or milliseconds as a number or digits. */
export type Duration = number | string;

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const FORM = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?$/;

/** What a duration is expected to look like, for error messages. */
export const DURATION_FORM = 'a duration such as "500ms", "30s", "5m", "1h", "7d", or milliseconds';

/** Reads a duration; returns whole milliseconds ≥ 0, or undefined where it is none. */
export function parseDuration(value: Duration): number | undefined {
  let ms: number;
  if (typeof value === "number") {
    ms = value;
  } else {
    const match = FORM.exec(value.trim());
    if (!match) return undefined;
    ms = Number(match[1]) * (UNITS[match[2] ?? "ms"] ?? 1);
  }
  return ms >= 0 && Number.isSafeInteger(Math.round(ms)) ? Math.round(ms) : undefined;
}
