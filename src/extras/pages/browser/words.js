/** How figures are written for people, on pages and by the commands: short, and in units that a person would use. */

const NONE = "–";

/** @param {number | null | undefined} value */
export const count = (value) => (value === null || value === undefined ? NONE : value.toLocaleString("en"));

/**
 * The same with what is counted: "1 task", "2,000 tasks".
 * @param {number} number
 * @param {string} noun
 */
export const counted = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

/** On one line wherever it is. @param {number} percent */
export const percentage = (percent) => `${Math.floor(percent)}\u00a0%`;

/**
 * A duration that was measured, in its two largest units: "840 ms", "3.1 s", "4 min 12 s", "2 h 5 min", "3 d 4 h".
 * @param {number | null | undefined} seconds
 */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return NONE;
  if (seconds <= 0) return "0 s";
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 9.995) return `${Math.round(seconds * 10) / 10} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return twoUnits(whole, 60, "min", 1, "s");
  if (whole < 86_400) return twoUnits(whole, 3600, "h", 60, "min");
  return twoUnits(whole, 86_400, "d", 3600, "h");
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
  return second === 0 ? `${first} ${largeName}` : `${first} ${largeName} ${second} ${smallName}`;
}

/**
 * A duration that is an estimate, or one of which nobody needs the seconds: "12 s", "3 min", "2 h 5 min", "4 days".
 * @param {number} seconds
 * @param {(value: number) => number} round
 */
export function about(seconds, round = Math.round) {
  if (seconds < 59.5) return `${Math.max(1, round(seconds))} s`;
  const minutes = Math.max(1, round(seconds / 60));
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  return `${round(minutes / 60 / 24)} days`;
}

/** @typedef {Pick<import("../../../wire/task.ts").Eta, "seconds" | "low" | "high">} Estimate */

/**
 * The range of an estimate: "8 to 20 s"; "" if it is so narrow that it tells no more than its middle.
 * @param {Estimate} eta
 * @param {number} agoS how long ago the estimate was made, seconds
 */
export function range({ seconds, low, high }, agoS = 0) {
  if (high - low <= Math.max(2, (seconds - agoS) / 5)) return "";
  const [from, to] = [about(Math.max(0, low - agoS), Math.floor), about(Math.max(0, high - agoS), Math.ceil)];
  const unit = / \w+$/.exec(to)?.[0] ?? "";
  return `${from.endsWith(unit) && !/ .* /.test(from) ? from.slice(0, -unit.length) : from} to ${to}`;
}

/** That no worker is there yet, and when one may be. @param {number} left seconds */
export const starting = (left) => `a worker is starting, about ${left < 100 ? `${Math.ceil(left)} s` : about(left)}`;

const SPANS = new Map(Object.entries({ "1s": "a second", "1m": "a minute", "1h": "an hour", "1d": "a day" }));

/**
 * How often tasks may start: "5 a second", "100 in 30s".
 * @param {{ max: number, per: string }} rate
 */
export const allowed = ({ max, per }) => `${count(max)} ${SPANS.get(per) ?? `in ${per}`}`;

/** @param {number | null | undefined} perSecond */
export function rate(perSecond) {
  if (perSecond === null || perSecond === undefined) return NONE;
  if (Number.isInteger(perSecond)) return count(perSecond);
  return perSecond < 9.95 ? perSecond.toFixed(perSecond < 0.0995 ? 2 : 1) : count(Math.round(perSecond));
}

/** @param {number} bytes */
export function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  /** @param {number} value */
  const short = (value) => (value < 9.95 ? value.toFixed(1) : String(Math.round(value)));
  return bytes < 999_500 ? `${short(bytes / 1000)} kB` : `${short(bytes / 1_000_000)} MB`;
}

/** @typedef {import("../../../task-record.ts").Fact} Fact */

/**
 * What there is to tell of a task now, each fact with its value.
 * @template {{ finishedAt: string | null }} T
 * @param {readonly Fact[]} facts
 * @param {T} task
 * @returns {(Fact & { value: string })[]}
 */
export function factsOf(facts, task) {
  const past = task.finishedAt === null ? "ended" : "pending";
  return facts.flatMap((fact) => {
    const value = Reflect.get(task, fact.name);
    return value === null || value === undefined || fact.fact === past ? [] : [{ ...fact, value: String(value) }];
  });
}
