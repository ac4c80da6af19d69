import { readFileSync } from "node:fs";
import type { Layout, Verb } from "./verb.ts";

/** What a name in Lua files stands for. */
export type Named = string | number | readonly number[];

/** What the library in Redis has from the core, or from an extra. */
export interface LibraryPart {
  /** Unique among the parts. */
  readonly name: string;
  /** Where its Lua files are. */
  readonly folder: URL;
  /** These, each after those whose tables it uses while it is loaded, see assemble.ts. */
  readonly files: readonly string[];
  /** What TypeScript knows of its verbs, by their names in the library. */
  readonly verbs: Readonly<Record<string, Pick<Verb<never, unknown>, "layout">>>;
  /** What it adds to the tables of names, see assemble.ts. */
  readonly tables?: Readonly<Record<string, Readonly<Record<string, Named>>>>;
}

/**
 * The names that all Lua files share.
 *
 * | name                  | stands for                                           | from              |
 * |-----------------------|------------------------------------------------------|-------------------|
 * | `K.task(call, id)`    | a key or channel: `call.base .. 't:' .. id`          | `KEYS`            |
 * | `P.task`              | the start of such keys, after the base: `'t:'`   | `KEYS`            |
 * | `F.state`             | a field of a task: `'s'`                             | `TASK_FIELDS`     |
 * | `T.errors`            | a field of what its attempts left: `'errors'`        | `ATTEMPT_FIELDS`  |
 * | `Q.paused`            | a field of a queue: `'paused'`                       | `QUEUE_FIELDS`    |
 * | `G.closed`            | a field of a group: `'s'`                            | `GROUP_FIELDS`    |
 * | `S.waiting`           | a state: `'w'`                                       | `STATE_LETTERS`   |
 * | `N.progress`          | another notice on a task's channel: `'p'`            | `TASK_NOTICES`    |
 * | `A.cancel`            | before a remembered answer: `'c'`                    | `ANSWER_LETTERS`  |
 * | `R.accepted`          | before the number of a counting bucket: `'a'`     | `RATE_LETTERS`    |
 * | `C.classSpan`         | a constant: `35184372088832`                         | `SHARED`          |
 * | `Layout.submit.args`  | the places of a hot verb's arguments and of the members of its answers, by name: see below | `verbs` |
 *
 * Extras add names to these tables, or tables of their own, see {@link LibraryPart}.
 */
export function namesOf(parts: readonly LibraryPart[]): string[] {
  const tables: Record<string, string> = {};
  for (const part of parts)
    for (const [table, names] of Object.entries(part.tables ?? {}))
      for (const [name, value] of Object.entries(names))
        tables[table] = `${tables[table] ?? ""}  ${name} = ${literal(value)},\n`;
  const keys = parts.flatMap((part) => Object.entries(part.tables?.P ?? {}));
  const layouts = parts.flatMap(({ verbs }) =>
    Object.entries(verbs).flatMap(([verb, { layout }]) => (layout ? layoutOf(verb, layout) : [])),
  );
  return [
    ...Object.entries(tables).map(([name, lines]) => `local ${name} = {\n${lines}}\n`),
    `local K = {}\n${keys.map(([kind, start]) => keyMaker(kind, String(start))).join("")}`,
    `local Layout = {\n${layouts.join("")}}\n`,
  ];
}

/** What the files use of Lua and of Redis. */
const GLOBALS =
  "redis, cjson, struct, math, string, table, ipairs, pairs, pcall, select, tonumber, tostring, type, unpack";

/**
 * In a library a global is looked up in three tables at each use, and most do not exist while it is loaded. The first call therefore makes
 * them locals of the library. Without that a batch of 32 completions takes 4 % more instructions of Redis, one of renewals 8 %
 * (`valgrind --tool=callgrind redis-server`).
 */
const LOCALS = `local register_function = redis.register_function
local function globals() return ${GLOBALS} end
local ${GLOBALS}
`;

/**
 * What the files call to register their verbs.
 *
 * `register` is for a verb that takes one JSON argument and gives one JSON answer: run(call, asked) returns the answer, and sometimes what
 * goes beside it as it is. See jsonVerb in verb.ts.
 *
 * `register_hot` is for a verb of which the speed of all depends: its arguments and the members of its answer go by their places, see
 * {@link Layout}.
 *
 * A verb without a flag gets a second function without writes, which works on a server that takes none.
 */
const REGISTER = `local function register_hot(verb, flags, run)
  local function callback(keys, args)
    if not redis then ${GLOBALS} = globals() end
    return run(keys, args)
  end
  register_function{ function_name = verb .. '_' .. DIGEST, callback = callback, flags = flags }
  if #flags > 0 then return end
  register_function{ function_name = verb .. '_ro_' .. DIGEST, callback = callback, flags = { 'no-writes' } }
end

local function register(verb, flags, run)
  register_hot(verb, flags, function(keys, args)
    local asked = cjson.decode(args[1])
    -- A member that follows as it is.
    if asked.raw then
      for n, of in ipairs(asked.items or { asked }) do of[asked.raw] = args[n + 1] end
    end
    local answer, beside = run(Call.new(keys), asked)
    if type(answer) == 'table' and answer.err then return answer end
    local text = cjson.encode(answer)
    return beside and { text, beside } or text
  end)
end
`;

/**
 * The library without its first lines: the tables of names, then the files of all parts. A file registers verbs, or gives all others a table
 * of functions, or both. What one takes from another's table while it is loaded (`local whole = Number.whole`) must come before it.
 */
export function assemble(parts: readonly LibraryPart[]): string {
  const files = parts.flatMap(({ folder, files }) =>
    files.map((file) => readFileSync(new URL(`${file}.lua`, folder), "utf8")),
  );
  const tables = files.flatMap((lua) => tableOf(lua) ?? []);
  const bodies = files.map((lua) => {
    const table = tableOf(lua);
    return table === undefined ? `do\n${lua}end\n` : `${table} = (function()\n${lua}end)()\n`;
  });
  return [...namesOf(parts), LOCALS, `local ${tables.join(", ")}\n`, REGISTER, ...bodies].join("\n");
}

/** The name of the table that a Lua file gives to all others: its last line is, for example, `return Call`. */
export const tableOf = (lua: string): string | undefined => /\nreturn ([A-Z]\w*)\n$/.exec(lua)?.[1];

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

/** A function that makes Redis keys of a kind; for a key that a partition has only once, without a name. */
const keyMaker = (kind: string, start: string): string =>
  start.endsWith(":")
    ? `function K.${kind}(call, name) return call.base .. '${start}' .. name end\n`
    : `function K.${kind}(call) return call.base .. '${start}' end\n`;

function literal(value: Named): string {
  if (typeof value === "string") return `'${value}'`;
  return typeof value === "number" ? String(value) : `{ ${value.join(", ")} }`;
}
