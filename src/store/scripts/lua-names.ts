import { SHARED } from "../constants.ts";
import { QUEUE_FIELDS, TASK_FIELDS } from "../fields.ts";
import { KEYS, START } from "../keys.ts";
import { ANSWER_LETTERS, RATE_LETTERS, STATE_LETTERS, TASK_NOTICES } from "../letters.ts";

/**
 * The names in Lua files, and what replaces them when a file is loaded; Redis runs only literals.
 *
 * | name            | stands for                                              | from              |
 * |-----------------|---------------------------------------------------------|-------------------|
 * | `K.task(id)`    | a key or channel: `base .. 't:' .. id`                  | `KEYS`            |
 * | `P.task`        | what such keys begin with, behind the base: `'t:'`      | `KEYS`            |
 * | `F.state`       | a field of a task: `'s'`                                | `TASK_FIELDS`     |
 * | `Q.paused`      | a field of a queue: `'paused'`                          | `QUEUE_FIELDS`    |
 * | `S.waiting`     | a state: `'w'`                                          | `STATE_LETTERS`   |
 * | `N.progress`    | another notice on a task's channel: `'p'`               | `TASK_NOTICES`    |
 * | `A.cancel`      | before a remembered answer: `'c'`                       | `ANSWER_LETTERS`  |
 * | `R.accepted`    | before the number of a bucket that counts: `'a'`        | `RATE_LETTERS`    |
 * | `C.classSpan`   | a constant: `35184372088832`                            | `SHARED`          |
 */
const NAMES: Readonly<Record<string, ReadonlyMap<string, string>>> = {
  P: literals(START),
  F: literals(firstOf(TASK_FIELDS)),
  Q: literals(firstOf(QUEUE_FIELDS)),
  S: literals(STATE_LETTERS),
  N: literals(TASK_NOTICES),
  A: literals(ANSWER_LETTERS),
  R: literals(RATE_LETTERS),
  C: literals(SHARED),
};

const NAME = /(' \.\. )?(?<![\w.])([PFQSNARC])\.(\w+)( \.\. ')?/g;
const KEY = /\bK\.(\w+)(?:\(((?:[^()]|\([^()]*\))+)\))?/g;

/** A Lua file with its names replaced. @throws Error with file and line of an unknown name */
export function withoutNames(source: string, file: string): string {
  const lines = source.split("\n").map((line, n) => {
    if (/^\s*--/.test(line)) return line;
    const fault = (name: string) => new Error(`${file}:${n + 1}: there is no ${name}`);
    return line
      .replace(NAME, (match, before = "", table: string, of: string, behind = "") => {
        const literal = NAMES[table]?.get(of);
        if (literal === undefined) throw fault(`${table}.${of}`);
        // Adjacent literals are joined.
        if (!literal.startsWith("'")) return match.replace(`${table}.${of}`, literal);
        return `${before === "" ? "'" : ""}${literal.slice(1, -1)}${behind === "" ? "'" : ""}`;
      })
      .replace(KEY, (call, kind: string, name: string | undefined) => {
        const key = keyOf(kind, name);
        if (key === undefined) throw fault(call);
        return key;
      });
  });
  return lines.join("\n");
}

/** The Lua expression of a key; if the name is a literal, it is joined with the prefix. */
function keyOf(kind: string, name: string | undefined): string | undefined {
  if (!(kind in KEYS)) return undefined;
  const start = START[kind as keyof typeof KEYS];
  if (start.endsWith(":") !== (name !== undefined)) return undefined;
  if (name === undefined) return `base .. '${start}'`;
  return /^'[^']*'$/.test(name) ? `base .. '${start}${name.slice(1)}` : `base .. '${start}' .. ${name}`;
}

function firstOf<T extends string>(fields: Readonly<Record<T, readonly [string, string]>>): Record<T, string> {
  return Object.fromEntries(
    Object.entries<readonly [string, string]>(fields).map(([name, [field]]) => [name, field]),
  ) as Record<T, string>;
}

function literals(values: Readonly<Record<string, string | number | readonly number[]>>): ReadonlyMap<string, string> {
  return new Map(Object.entries(values).map(([name, value]) => [name, literal(value)]));
}

function literal(value: string | number | readonly number[]): string {
  if (typeof value === "string") return `'${value}'`;
  return typeof value === "number" ? String(value) : `{ ${value.join(", ")} }`;
}
