import { readFileSync } from "node:fs";
import { withoutNames } from "./lua-names.ts";

const LUA_DIR = new URL("./lua/", import.meta.url);
const INCLUDE = /^--#include (\w+(?: \w+)*?)( when called)?$/gm;
const FUNCTION = /^local function (\w+)/gm;
const VARIABLES = /^local (?!function)([\w, ]+?) *(?:=|$)/gm;
const CALL = /(?<![\w.:]|function )(\w+)\(/g;

/** Parts of `lua/lib` whose functions are made when the first of them is called. */
interface Part {
  readonly name: string;
  readonly functions: readonly string[];
  readonly lua: string;
}

/**
 * Reads a Lua file with the named parts of `lua/lib` in place of its `--#include name` lines, and its names replaced. Each call of a
 * script makes all of its functions, which takes longer than a short task: those that are rarely called are included by
 * `--#include name … when called`, and made then.
 */
export function luaSource(name: string): string {
  const text = luaFile(`${name}.lua`);
  const parts: Part[] = [];
  const body = text.replace(INCLUDE, (_, names: string, whenCalled?: string) => {
    const lua = names.split(" ").map((part) => luaFile(`lib/${part}.lua`));
    if (!whenCalled) return lua.join("");
    parts.push(partOf(names, lua.join("")));
    return placeOf(parts.length - 1);
  });
  const whole = parts.reduce(
    (source, part, n) => source.replace(placeOf(n), () => whenCalled(part, parts)),
    throughParts(body, parts, `lua/${name}.lua`),
  );
  // Flags are for Redis 7 and later; older versions refuse the shebang.
  const flags = /^-- flags: (.+)$/m.exec(text)?.[1];
  return flags === undefined ? whole : `#!lua flags=${flags}\n${whole}`;
}

function luaFile(file: string): string {
  return withoutNames(readFileSync(new URL(file, LUA_DIR), "utf8"), `lua/${file}`);
}

/** Marks the place of a part; in no Lua file. */
const placeOf = (n: number): string => `\0${n}\0`;

function partOf(names: string, lua: string): Part {
  return { name: names.replaceAll(" ", "_"), functions: [...lua.matchAll(FUNCTION)].map(([, of = ""]) => of), lua };
}

/** A function that makes those of a part once, and returns them. */
function whenCalled({ name, functions, lua }: Part, parts: readonly Part[]): string {
  const others = parts.filter((part) => part.name !== name);
  const made = functions.map((of) => `${of} = ${of}`).join(", ");
  const head = `local of_${name}; local function ${name}_part() if of_${name} then return of_${name} end`;
  return `${head}\n${throughParts(lua, others, name)}\nof_${name} = { ${made} }; return of_${name} end`;
}

/** Has the calls of the functions of parts go through these. @throws Error if anything else of a part is used */
function throughParts(lua: string, parts: readonly Part[], file: string): string {
  const owners = new Map(parts.flatMap((part) => part.functions.map((of) => [of, part.name])));
  const code = lua.replaceAll(/--.*$/gm, "");
  for (const part of parts) {
    const variables = [...part.lua.matchAll(VARIABLES)].flatMap(([, names = ""]) => names.split(/, */));
    const used = [...variables, ...part.functions].find((of) => new RegExp(`(?<![\\w.'])${of}\\b(?!\\()`).test(code));
    if (used)
      throw new Error(`${file} uses ${used} of ${part.name}, which is made when one of its functions is called`);
  }
  return lua.replace(CALL, (call, of: string) => (owners.has(of) ? `${owners.get(of)}_part().${call}` : call));
}
