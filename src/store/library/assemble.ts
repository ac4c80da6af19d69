import { readdirSync, readFileSync } from "node:fs";
import { SHARED } from "../constants.ts";
import { GROUP_FIELDS, QUEUE_FIELDS, TASK_FIELDS } from "../fields.ts";
import { START } from "../keys.ts";
import { ANSWER_LETTERS, RATE_LETTERS, STATE_LETTERS, TASK_NOTICES } from "../letters.ts";
import type { Layout } from "../verbs/codec.ts";
import * as VERBS from "../verbs/verbs.ts";

/** The modules of `store/lua`, each after those that it uses. `call.lua` is the table `Call` for all after it. */
export const MODULES = [
  ...["number", "call", "run", "input", "result", "answers", "past", "notices"],
  ...["rate", "forecast", "service", "warmup", "snapshot", "keyed", "fair", "line"],
  ...["due", "follow", "group", "settle", "lease", "completion", "reservation"],
  ...["breaker", "filter", "allowed", "inspection", "setback", "grace", "submission"],
] as const;

/**
 * The names that all Lua files share.
 *
 * | name                  | stands for                                           | from              |
 * |-----------------------|------------------------------------------------------|-------------------|
 * | `K.task(call, id)`    | a key or channel: `call.base .. 't:' .. id`          | `KEYS`            |
 * | `P.task`              | the start of such keys, after the base: `'t:'`   | `KEYS`            |
 * | `F.state`             | a field of a task: `'s'`                             | `TASK_FIELDS`     |
 * | `Q.paused`            | a field of a queue: `'paused'`                       | `QUEUE_FIELDS`    |
 * | `G.closed`            | a field of a group: `'s'`                            | `GROUP_FIELDS`    |
 * | `S.waiting`           | a state: `'w'`                                       | `STATE_LETTERS`   |
 * | `N.progress`          | another notice on a task's channel: `'p'`            | `TASK_NOTICES`    |
 * | `A.cancel`            | before a remembered answer: `'c'`                    | `ANSWER_LETTERS`  |
 * | `R.accepted`          | before the number of a counting bucket: `'a'`     | `RATE_LETTERS`    |
 * | `C.classSpan`         | a constant: `35184372088832`                         | `SHARED`          |
 * | `Layout.pause.args`   | the places of a verb's arguments and of the members of its answers, by name: see below | `VERBS` |
 */
const TABLES: Readonly<Record<string, Readonly<Record<string, string | number | readonly number[]>>>> = {
  P: START,
  F: firstOf(TASK_FIELDS),
  Q: firstOf(QUEUE_FIELDS),
  G: firstOf(GROUP_FIELDS),
  S: STATE_LETTERS,
  N: TASK_NOTICES,
  A: ANSWER_LETTERS,
  R: RATE_LETTERS,
  C: SHARED,
};

/** What the files use of Lua and of Redis. */
const GLOBALS =
  "redis, cjson, struct, math, string, table, ipairs, pairs, pcall, select, tonumber, tostring, type, unpack";

/**
 * In a library a global is looked up in three tables at each use, and most do not exist while it is loaded. The first call therefore makes
 * them locals of the library. Without that a batch of 32 completions takes 4 % more instructions of Redis, one of renewals 8 %
 * (`valgrind --tool=callgrind redis-server`).
 *
 * A verb without a flag gets a second function without writes, which works on a server that takes none.
 */
const REGISTER = `local register_function = redis.register_function
local function globals() return ${GLOBALS} end
local ${GLOBALS}

local function register(verb, flags, run)
  local function callback(keys, args)
    if not redis then ${GLOBALS} = globals() end
    return run(keys, args)
  end
  register_function{ function_name = verb .. '_' .. DIGEST, callback = callback, flags = flags }
  if #flags > 0 then return end
  register_function{ function_name = verb .. '_ro_' .. DIGEST, callback = callback, flags = { 'no-writes' } }
end
`;

/** The library without its first lines: the tables of names, the modules, then the verbs, from the folder of the store. */
export function assemble(store: URL): string {
  const read = (file: string): string => readFileSync(new URL(file, store), "utf8");
  const verbs = readdirSync(new URL("verbs/", store))
    .filter((file) => file.endsWith(".lua"))
    .toSorted();
  return [
    ...names(),
    REGISTER,
    ...MODULES.map((name) => `local ${moduleName(name)} = (function()\n${read(`lua/${name}.lua`)}end)()\n`),
    ...verbs.map((file) => `do\n${read(`verbs/${file}`)}end\n`),
  ].join("\n");
}

/** The tables of names, and `K`. */
export const names = (): string[] => [
  ...Object.entries(TABLES).map(([name, values]) => tableOf(name, values)),
  keyMakers(),
  `local Layout = {\n${Object.entries(VERBS)
    .map(([verb, { layout }]) => layoutOf(verb, layout))
    .join("")}}\n`,
];

/** The table of a module: `call.lua` is `Call`. */
export const moduleName = (file: string): string => file.slice(0, 1).toUpperCase() + file.slice(1);

function tableOf(name: string, values: (typeof TABLES)[string]): string {
  const lines = Object.entries(values).map(([field, value]) => `  ${field} = ${literal(value)},\n`);
  return `local ${name} = {\n${lines.join("")}}\n`;
}

/**
 * For each list of names, the place of each name, and their number: `args = { queue = 1, paused = 2, width = 2 }`. The number of the items
 * at the end is `args.count`.
 */
export function tablesOf({ args = [], ...lists }: Layout): Record<string, Record<string, number>> {
  const all = Object.entries({ args: lists.item ? [...args, "count"] : args, ...lists });
  return Object.fromEntries(
    all.map(([list, names = []]) => [
      list,
      Object.fromEntries([...names.map((name, n) => [name, n + 1] as const), ["width", names.length]]),
    ]),
  );
}

function layoutOf(verb: string, layout: Layout): string {
  const tables = Object.entries(tablesOf(layout)).map(([list, places]) => {
    const fields = Object.entries(places).map(([name, place]) => `${name} = ${place}`);
    return `    ${list} = { ${fields.join(", ")} },\n`;
  });
  return `  ${verb} = {\n${tables.join("")}  },\n`;
}

/** Functions that make Redis keys; for a key that a partition has only once, without a name. */
function keyMakers(): string {
  const makers = Object.entries(START).map(([kind, start]) =>
    start.endsWith(":")
      ? `function K.${kind}(call, name) return call.base .. '${start}' .. name end\n`
      : `function K.${kind}(call) return call.base .. '${start}' end\n`,
  );
  return `local K = {}\n${makers.join("")}`;
}

function firstOf(fields: Readonly<Record<string, readonly [string, string]>>): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([name, [field]]) => [name, field]));
}

function literal(value: string | number | readonly number[]): string {
  if (typeof value === "string") return `'${value}'`;
  return typeof value === "number" ? String(value) : `{ ${value.join(", ")} }`;
}
