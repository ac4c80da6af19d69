import { StartError } from "../errors.ts";
import { hint } from "./nearest.ts";
import type { Variable } from "./values.ts";
import { VARIABLES } from "./variables.ts";

type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${Lowercase<First>}${Capitalize<CamelCase<Rest>>}`
  : Lowercase<Name>;

/** What may be passed for a variable: its text as in `.env.example`, or the value that it stands for. */
type Given<Value> = Value extends boolean
  ? boolean
  : Value extends number
    ? number extends Value
      ? number | string
      : Value | `${Value}`
    : Value extends string
      ? Value
      : Value extends readonly unknown[] | { readonly hosts: unknown }
        ? string | readonly string[]
        : string;

/** Handlers are given as such, and the other concerns a process as a whole. */
type NotSettings = "HANDLERS" | "WEB_CONCURRENCY";

/**
 * The settings of `.env.example` in camelCase, with the same defaults: `resultTtl: "10m"`, `maxBody: "2mb"`, `rateLimit: "100/1m"`.
 * Durations may also be milliseconds, sizes bytes, and lists arrays.
 */
export type Settings = {
  readonly [Name in Exclude<keyof typeof VARIABLES, NotSettings> as CamelCase<Name>]?:
    | ((typeof VARIABLES)[Name] extends Variable<infer Value, unknown> ? Given<Value> : never)
    | undefined;
};

const ELSEWHERE: Readonly<Record<string, string>> = {
  webConcurrency: "start() runs one process; the command `paihao start` runs several",
};

const camelCase = (name: string): string =>
  name.toLowerCase().replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());
const variableOf = new Map(Object.keys(VARIABLES).map((name) => [camelCase(name), name]));

/** Settings as environment variables, which {@link readConfig} checks. @throws StartError for an unknown or unusable setting */
export function variablesOf(settings: Readonly<Record<string, unknown>>): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const [key, value] of Object.entries(settings)) {
    if (value === undefined) continue;
    if (Object.hasOwn(ELSEWHERE, key)) throw new StartError(`${key} is not a setting here: ${ELSEWHERE[key]}`);
    const name = variableOf.get(key);
    if (name === undefined) {
      throw new StartError(`there is no setting ${JSON.stringify(key)}${hint(key, variableOf.keys())}`);
    }
    const items: readonly unknown[] = Array.isArray(value) ? value : [value];
    if (!items.every((item) => ["string", "number", "boolean"].includes(typeof item))) {
      const { secret, expected }: Variable<unknown, unknown> = VARIABLES[name as keyof typeof VARIABLES];
      throw new StartError(`${key} is ${secret ? "the value given" : JSON.stringify(value)}, expected ${expected}`);
    }
    variables[name] = items.join(",");
  }
  return variables;
}

/** A message about variables, with the names of the settings in their place. */
export function inSettings(message: string): string {
  return message.replaceAll(/\b[A-Z][A-Z_]+\b/g, (word) => (Object.hasOwn(VARIABLES, word) ? camelCase(word) : word));
}
