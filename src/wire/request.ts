/** How requests are read: parameters of the query, and lists in header fields. */

import { ProblemError } from "../errors.ts";
import { PRIORITY } from "../task.ts";

/** A parameter of requests: how it is read, and how it is described. `Absent`: its value if it is not given. */
export interface Parameter<T, Absent = null> {
  readonly name: string;
  readonly description: string;
  /** A JSON Schema. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** What is expected of a value, for a caller who sent an invalid one. */
  readonly expected: string;
  readonly absent: Absent;
  /** Its value; undefined if it is invalid. */
  read(text: string): T | undefined;
}

/** The range of a number. */
interface Range {
  readonly minimum: number;
  readonly maximum?: number;
  readonly multipleOf?: number;
}

/** A whole number. */
export function whole<Absent extends number | null = null>(
  name: string,
  description: string,
  range: Range = { minimum: 0 },
  absent: Absent = null as Absent,
): Parameter<number, Absent> {
  const { minimum, maximum, multipleOf = 1 } = range;
  const kind = multipleOf === 1 ? "whole number" : `multiple of ${multipleOf}`;
  return {
    ...{ name, description, absent },
    schema: { type: "integer", ...range, ...(absent !== null && { default: absent }) },
    expected: `a ${kind} from ${minimum}${maximum === undefined ? "" : ` to ${maximum}`}`,
    read(text) {
      const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
      return value >= minimum && !(value > (maximum ?? value)) && value % multipleOf === 0 ? value : undefined;
    },
  };
}

/** `true` or `false`; false if absent. */
export const flag = (name: string, description: string): Parameter<boolean, false> => ({
  ...{ name, description, absent: false, expected: "true or false" },
  schema: { type: "boolean", default: false },
  read: (text) => (text === "true" ? true : text === "false" ? false : undefined),
});

/** One of some words. */
export const choice = <const T extends string, Absent extends T | null = null>(
  name: string,
  description: string,
  words: readonly T[],
  absent: Absent = null as Absent,
): Parameter<T, Absent> => ({
  ...{ name, description, absent, expected: words.join(" or ") },
  schema: { enum: words, ...(absent !== null && { default: absent }) },
  read: (text) => words.find((word) => word === text),
});

/** A text of a form, or any text. */
export const text = (
  name: string,
  description: string,
  {
    form = /^/,
    expected = "",
    ...schema
  }: { form?: RegExp; expected?: string; format?: string; pattern?: string } = {},
): Parameter<string> => ({
  ...{ name, description, expected, absent: null },
  schema: { type: "string", ...schema },
  read: (given) => (form.test(given) ? given : undefined),
});

/** Reads a parameter of a query. @throws ProblemError invalid-parameter if it is invalid or repeated */
export function readParameter<T, Absent>(search: URLSearchParams, parameter: Parameter<T, Absent>): T | Absent {
  const given = oneParameter(search, parameter.name);
  return given === null ? parameter.absent : valid(parameter, parameter.read(given));
}

/** A value that was read. @throws ProblemError invalid-parameter if it is undefined */
export function valid<T>({ name, expected }: Pick<Parameter<T>, "name" | "expected">, value: T | undefined): T {
  if (value === undefined) throw wrongParameter(name, `expected ${expected}`);
  return value;
}

/** The text of a parameter; null if absent. @throws ProblemError invalid-parameter if it is repeated */
export function oneParameter(search: URLSearchParams, name: string): string | null {
  const [first, second] = search.getAll(name);
  if (second !== undefined) throw wrongParameter(name, "given more than once");
  return first ?? null;
}

/** The error for an invalid value of a parameter. */
export function wrongParameter(name: string, expected: string): ProblemError {
  return new ProblemError("invalid-parameter", `${name}: ${expected}`, { extensions: { parameter: name } });
}

// Lists in header fields (RFC 9110 §5.6) are read by scanners: a regular expression with optional white space on both sides of something
// optional takes exponential time on a hostile value.

/** Splits at a separator, but not within quoted strings; an unterminated one extends to the end of the value. */
export function splitField(value: string, separator: "," | ";"): string[] {
  const parts: string[] = [];
  let start = 0;
  let quoted = false;
  for (let i = 0; i < value.length; i += 1) {
    const char = value[i];
    if (quoted && char === "\\") i += 1;
    else if (char === '"') quoted = !quoted;
    else if (char === separator && !quoted) {
      parts.push(value.slice(start, i));
      start = i + 1;
    }
  }
  parts.push(value.slice(start));
  return parts;
}

/** Trims optional white space: spaces and tabs only (§5.6.3). */
export function trimField(value: string): string {
  let start = 0;
  let end = value.length;
  while (start < end && isSpace(value[start])) start += 1;
  while (end > start && isSpace(value[end - 1])) end -= 1;
  return value.slice(start, end);
}

/** A name and the value after its "="; "" without a value. */
export interface NameValue {
  readonly name: string;
  readonly value: string;
}

const NAME_VALUE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+)(?:[ \t]*=[ \t]*([!#$%&'*+\-.^_`|~0-9A-Za-z]*|"(?:[^"\\]|\\.)*"))?$/;

/** Reads `token [ BWS "=" BWS ( token / quoted-string ) ]`; undefined for anything else. */
export function nameValue(part: string): NameValue | undefined {
  const match = NAME_VALUE.exec(trimField(part));
  const name = match?.[1];
  return name === undefined ? undefined : { name: name.toLowerCase(), value: unquote(match?.[2] ?? "") };
}

/** The content of a quoted string; anything else unchanged. */
function unquote(value: string): string {
  return value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/g, "$1") : value;
}

function isSpace(char: string | undefined): boolean {
  return char === " " || char === "\t";
}

/** The pieces of a structured field (RFC 9651 §3): bare items, inner lists, parameters and members of a dictionary. */
const KEY = "[a-z*][a-z0-9_\\-.*]*";
const NUMBER = "-?(?:\\d{1,12}\\.\\d{1,3}|\\d{1,15})";
const STRING = '"(?:[\\x20-\\x21\\x23-\\x5b\\x5d-\\x7e]|\\\\["\\\\])*"';
const TOKEN = "[A-Za-z*][!#$%&'*+\\-.^_`|~0-9A-Za-z:/]*";
const ITEM = `(?:${NUMBER}|${STRING}|${TOKEN}|:[A-Za-z0-9+/=]*:|\\?[01]|@-?\\d{1,15})`;
const PARAMETERS = `(?:; *${KEY}(?:=${ITEM})?)*`;
const INNER_LIST = `\\((?: *${ITEM}${PARAMETERS}(?= |\\)))* *\\)`;
const MEMBER = new RegExp(`^(${KEY})(?:=(${ITEM}|${INNER_LIST}))?${PARAMETERS}$`);

/**
 * The urgency that a Priority header asks for (RFC 9218 §4.1). The last one counts, as in every structured dictionary; a value
 * outside 0–7 is ignored, and so is a header that is not a dictionary (§4).
 */
export function urgencyOf(header: string): number {
  let urgency: number = PRIORITY.default;
  for (const part of splitField(header, ",")) {
    const match = MEMBER.exec(trimField(part));
    if (!match) return PRIORITY.default;
    const [, key, value = ""] = match;
    if (key === "u") urgency = urgencyFrom(value);
  }
  return urgency;
}

/** An sf-integer may have leading zeros and be "-0" (RFC 9651 §3.3.1); a decimal such as "3.0" is not one. */
function urgencyFrom(value: string): number {
  const integer = /^-?\d{1,15}$/.test(value) ? Math.abs(Number(value)) : Number.NaN;
  const negative = value.startsWith("-") && integer !== 0;
  return !negative && integer >= PRIORITY.most && integer <= PRIORITY.least ? integer : PRIORITY.default;
}
