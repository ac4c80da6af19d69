import { InvalidArgumentError } from "commander";
import { LONGEST_TIMER_MS, parseDuration } from "../config/duration.ts";

/** How durations are written on the command line, for help texts. */
export const DURATION_HELP = "30s, 5m, 1h or seconds";

/** Reads a duration; unlike in settings, a bare number counts seconds, as with `sleep`. Returns ms. */
export function readDuration(value: string): number {
  const ms = parseDuration(value, "s");
  if (ms === undefined) throw new InvalidArgumentError(`expected ${DURATION_HELP}.`);
  return ms;
}

/** The same for a duration that a timer waits for. */
export function readTimeout(value: string): number {
  const ms = readDuration(value);
  if (ms > LONGEST_TIMER_MS) throw new InvalidArgumentError("expected at most 24d.");
  return ms;
}

/** A reader of whole numbers within bounds. */
export function wholeWithin(min: number, max: number): (value: string) => number {
  return (value) => {
    const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
    if (number >= min && number <= max) return number;
    throw new InvalidArgumentError(`expected a whole number from ${min} to ${max}.`);
  };
}

/** Adds `name=value` to the parameters before it. */
export function addParameter(value: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const [, name, rest] = /^([^=]+)=(.*)$/s.exec(value) ?? [];
  if (name === undefined || rest === undefined) throw new InvalidArgumentError("expected name=value.");
  return { ...before, [name]: rest };
}
