/** What people write on the command line: numbers, times, parameters, the input. */

import { readFile } from "node:fs/promises";
import { InvalidArgumentError } from "commander";
import { LONGEST_TIMER_MS, parseDuration } from "../config/duration.ts";
import { messageOf } from "../errors.ts";
import { wrongUsage } from "./exit.ts";

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

/** The largest input that is read, which is more than any server accepts. */
const MAX_BYTES = 256 * 1024 * 1024;

/**
 * The input that an argument names: JSON itself, `@file`, or `-` for stdin; `null` without one. It is sent as it is written.
 * @param type its media type; undefined: JSON, which is checked here, since quotes in a shell often go wrong
 * @throws CommandError
 */
export async function readInput(argument: string | undefined, type: string | undefined): Promise<Uint8Array> {
  const bytes = await bytesOf(argument);
  if (type === undefined) checkJson(bytes, argument);
  return bytes;
}

async function bytesOf(argument = "null"): Promise<Uint8Array> {
  if (argument === "-") return readStdin();
  if (!argument.startsWith("@")) return Buffer.from(argument);
  const file = argument.slice(1);
  try {
    return await readFile(file);
  } catch (error) {
    throw wrongUsage(`${file} cannot be read: ${messageOf(error)}`);
  }
}

async function readStdin(): Promise<Uint8Array> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of process.stdin as AsyncIterable<Buffer>) {
    parts.push(part);
    bytes += part.length;
    if (bytes > MAX_BYTES) throw wrongUsage(`the input on stdin is longer than ${MAX_BYTES} bytes`);
  }
  return Buffer.concat(parts);
}

function checkJson(bytes: Uint8Array, argument = "null"): void {
  if (bytes.length === 0) throw wrongUsage("the input is empty, expected JSON");
  try {
    JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    const [what, hint] = argument.startsWith("@")
      ? [argument.slice(1), "; --type says what it is"]
      : [argument === "-" ? "stdin" : "the input", argument === "-" ? "; --type says what it is" : `, e.g. '{"n":1}'`];
    throw wrongUsage(`${what} is not JSON: ${messageOf(error)}${hint}`);
  }
}
