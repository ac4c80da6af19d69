const DAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)";
const LONG_DAY = "(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day";
const MONTH = "(?<month>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)";
const TIME = "(?<time>\\d\\d:\\d\\d:\\d\\d)";
/** The three forms of an HTTP-date (RFC 9110 §5.6.7): IMF-fixdate, and the obsolete ones of RFC 850 and asctime. */
const HTTP_DATES = [
  new RegExp(`^${DAY}, (?<day>\\d\\d) ${MONTH} (?<year>\\d{4}) ${TIME} GMT$`),
  new RegExp(`^${LONG_DAY}, (?<day>\\d\\d)-${MONTH}-(?<year>\\d\\d) ${TIME} GMT$`),
  new RegExp(`^${DAY} ${MONTH} (?<day>[ \\d]\\d) ${TIME} (?<year>\\d{4})$`),
];

/**
 * The delay that a Retry-After header asks for (RFC 9110 §10.2.3), in ms: seconds, or the time until a date. At most `maxMs`;
 * 0 for a date in the past; undefined for an absent or malformed header. `Date.parse` alone would accept many other forms, some
 * of them as local time.
 */
export function retryAfterMs(
  header: string | undefined,
  { nowMs, maxMs }: { nowMs: number; maxMs: number },
): number | undefined {
  const value = header?.trim() ?? "";
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : httpDateMs(value, nowMs) - nowMs;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), maxMs);
}

/** Milliseconds since 1970; NaN if it is not an HTTP-date. */
function httpDateMs(value: string, nowMs: number): number {
  for (const form of HTTP_DATES) {
    const { day, month, year, time } = form.exec(value)?.groups ?? {};
    if (year !== undefined) return Date.parse(`${day} ${month} ${fullYear(year, nowMs)} ${time} GMT`);
  }
  return Number.NaN;
}

/** A year of two digits that seems to lie more than 50 years ahead is in the past (RFC 9110 §5.6.7). */
function fullYear(year: string, nowMs: number): string {
  if (year.length === 4) return year;
  const current = new Date(nowMs).getUTCFullYear();
  const sameCentury = current - (current % 100) + Number(year);
  return String(sameCentury > current + 50 ? sameCentury - 100 : sameCentury);
}
