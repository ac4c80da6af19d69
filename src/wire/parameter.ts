import { ProblemError } from "../errors.ts";

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
