/** How figures are written: short, and of the same width from one refresh to the next. */

const NONE = "–";

/** @param {number | null | undefined} value */
export const count = (value) => (value === null || value === undefined ? NONE : value.toLocaleString("en"));

/** A number with its unit, kept on one line. @param {number | string} value @param {string} unit */
const of = (value, unit) => `${value}\u00a0${unit}`;

/**
 * A duration in its two largest units: "840 ms", "3.1 s", "4 min 12 s", "2 h 5 min", "3 d 4 h".
 * @param {number | null | undefined} seconds
 */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return NONE;
  if (seconds <= 0) return of(0, "s");
  if (seconds < 0.9995) return of(Math.round(seconds * 1000), "ms");
  if (seconds < 59.95)
    return of(seconds < 9.995 && !Number.isInteger(seconds) ? seconds.toFixed(1) : Math.round(seconds), "s");
  const whole = Math.round(seconds);
  if (whole < 3600) return twoUnits(whole, 60, "min", 1, "s");
  if (whole < 86_400) return twoUnits(whole, 3600, "h", 60, "min");
  return twoUnits(whole, 86_400, "d", 3600, "h");
}

/** A duration in one unit, for an axis: "40 s", "1.7 min". @param {number} seconds */
export function roughly(seconds) {
  /** @param {number} value */
  const short = (value) => String(Math.round(value * 10) / 10);
  if (seconds < 100) return duration(seconds);
  return seconds < 6000 ? of(short(seconds / 60), "min") : of(short(seconds / 3600), "h");
}

/**
 * @param {number} whole
 * @param {number} large
 * @param {string} largeName
 * @param {number} small
 * @param {string} smallName
 */
function twoUnits(whole, large, largeName, small, smallName) {
  const first = Math.floor(whole / large);
  const second = Math.floor((whole % large) / small);
  return second === 0 ? of(first, largeName) : `${of(first, largeName)} ${of(second, smallName)}`;
}

/** @param {number | null | undefined} perSecond */
export function rate(perSecond) {
  if (perSecond === null || perSecond === undefined) return NONE;
  if (Number.isInteger(perSecond)) return count(perSecond);
  return perSecond < 9.95 ? perSecond.toFixed(perSecond < 0.0995 ? 2 : 1) : Math.round(perSecond).toLocaleString("en");
}

/** @param {number} bytes */
export function size(bytes) {
  if (bytes < 1000) return of(bytes, "B");
  return bytes < 1_000_000 ? of((bytes / 1000).toFixed(1), "kB") : of((bytes / 1_000_000).toFixed(1), "MB");
}

/** @typedef {import("../server/wire.js").Eta} Eta */

/**
 * When something is estimated to begin: "at once" if nothing is before it, "3.1 s", with the range if it is wide.
 * @param {Eta | null | undefined} eta
 */
export function eta(eta) {
  return `${etaStart(eta)}${etaRange(eta)}`;
}

/**
 * The estimate without its range.
 * @param {Eta | null | undefined} eta
 */
export function etaStart(eta) {
  if (!eta) return NONE;
  // A free slot takes it; a line that moves fast is still a line.
  return eta.seconds === 0 ? "at\u00a0once" : duration(eta.seconds);
}

/**
 * " (2 s to 5 s)"; empty if the range is narrow.
 * @param {Eta | null | undefined} eta
 */
export function etaRange(eta) {
  if (!eta || eta.seconds < 0.5) return "";
  const isWide = eta.high - eta.low > Math.max(2, eta.seconds / 5);
  return isWide ? ` (${duration(eta.low)} to ${duration(eta.high)})` : "";
}

/** @param {string} iso */
export const secondsSince = (iso) => Math.max(0, (Date.now() - Date.parse(iso)) / 1000);

/**
 * A moment in local time: a moment of today without its date.
 * @param {string} iso
 */
export function moment(iso) {
  const at = new Date(iso);
  const time = at.toLocaleTimeString("en-GB");
  return at.toDateString() === new Date().toDateString() ? time : `${at.toLocaleDateString("en-CA")} ${time}`;
}

/**
 * @param {number} number
 * @param {string} noun
 */
export const counted = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
