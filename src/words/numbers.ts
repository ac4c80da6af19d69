/** How figures are written for people, on pages and by the commands: short, and in units that a person would use. */

import type { Eta } from "../wire/task.ts";

const NONE = "–";

type Figure = number | null | undefined;

export const count = (value: Figure): string =>
  value === null || value === undefined ? NONE : value.toLocaleString("en");

/** The same with what is counted: "1 task", "2,000 tasks". */
export const counted = (number: number, noun: string): string => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

/** On one line wherever it is. */
export const percentage = (percent: number): string => `${Math.floor(percent)}\u00a0%`;

/** A duration that was measured, in its two largest units: "840 ms", "3.1 s", "4 min 12 s", "2 h 5 min", "3 d 4 h". */
export function duration(seconds: Figure): string {
  if (seconds === null || seconds === undefined) return NONE;
  if (seconds <= 0) return "0 s";
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 9.995) return `${Math.round(seconds * 10) / 10} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return twoUnits(whole, { size: 60, name: "min" }, { size: 1, name: "s" });
  if (whole < 86_400) return twoUnits(whole, { size: 3600, name: "h" }, { size: 60, name: "min" });
  return twoUnits(whole, { size: 86_400, name: "d" }, { size: 3600, name: "h" });
}

interface Unit {
  readonly size: number;
  readonly name: string;
}

function twoUnits(whole: number, large: Unit, small: Unit): string {
  const first = Math.floor(whole / large.size);
  const second = Math.floor((whole % large.size) / small.size);
  return second === 0 ? `${first} ${large.name}` : `${first} ${large.name} ${second} ${small.name}`;
}

/** A duration that is an estimate, or one of which nobody needs the seconds: "12 s", "3 min", "2 h 5 min", "4 days". */
export function about(seconds: number, round: (value: number) => number = Math.round): string {
  if (seconds < 59.5) return `${Math.max(1, round(seconds))} s`;
  const minutes = Math.max(1, round(seconds / 60));
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  return `${round(minutes / 60 / 24)} days`;
}

/**
 * The range of an estimate: "8 to 20 s"; "" if it is so narrow that it tells no more than its middle.
 * @param agoS how long ago the estimate was made, seconds
 */
export function range({ seconds, low, high }: Pick<Eta, "seconds" | "low" | "high">, agoS = 0): string {
  if (high - low <= Math.max(2, (seconds - agoS) / 5)) return "";
  const [from, to] = [about(Math.max(0, low - agoS), Math.floor), about(Math.max(0, high - agoS), Math.ceil)];
  const unit = / \w+$/.exec(to)?.[0] ?? "";
  return `${from.endsWith(unit) && !/ .* /.test(from) ? from.slice(0, -unit.length) : from} to ${to}`;
}

/** That no worker is there yet, and in how many seconds one may be. */
export const starting = (left: number): string =>
  `a worker is starting, about ${left < 100 ? `${Math.ceil(left)} s` : about(left)}`;

const SPANS = new Map(Object.entries({ "1s": "a second", "1m": "a minute", "1h": "an hour", "1d": "a day" }));

/** How often tasks may start: "5 a second", "100 in 30s". */
export const allowed = ({ max, per }: { readonly max: number; readonly per: string }): string =>
  `${count(max)} ${SPANS.get(per) ?? `in ${per}`}`;

export function rate(perSecond: Figure): string {
  if (perSecond === null || perSecond === undefined) return NONE;
  if (Number.isInteger(perSecond)) return count(perSecond);
  return perSecond < 9.95 ? perSecond.toFixed(perSecond < 0.0995 ? 2 : 1) : count(Math.round(perSecond));
}

export function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const short = (value: number) => (value < 9.95 ? value.toFixed(1) : String(Math.round(value)));
  return bytes < 999_500 ? `${short(bytes / 1000)} kB` : `${short(bytes / 1_000_000)} MB`;
}

/** A moment in the local time zone, on a clock of 24 hours; today's without the date. */
export function moment(iso: string, now = new Date()): string {
  const at = new Date(iso);
  const time = at.toLocaleTimeString("en-GB");
  return at.toDateString() === now.toDateString() ? time : `${at.toLocaleDateString("en-CA")} ${time}`;
}
