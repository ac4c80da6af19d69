import { readFileSync } from "node:fs";
import { withoutNames } from "./lua-names.ts";

const LUA_DIR = new URL("./lua/", import.meta.url);
const INCLUDE = /^--#include (\w+(?: \w+)*?)( when called)?$/gm;
const FUNCTION = /^local function (\w+)/gm;
const VARIABLES = /^local (?!function)(\w+(?:, \w+)*) *(?:=|$)/gm;
const CALL = /(?<![\w.:]|function )(\w+)\(/g;
/** A function of a file, up to the first line that is only its end. */
const DEFINITION = /^local function (\w+)\(.*\n(?:.*\n)*?end\n/gm;

/** What was made before: every connection that runs scripts needs all of them, they share functions, and files do not change. */
const known = {
  files: new Map<string, string>(),
  scripts: new Map<string, string>(),
  words: new Map<string, ReadonlyMap<string, number>>(),
};

/** The value of a key, made when it is first asked for. */
function once<T>(values: Map<string, T>, key: string, make: (key: string) => T): T {
  const value = values.get(key) ?? make(key);
  values.set(key, value);
  return value;
}

/** Constants: variables in capitals, of the kinds of values that withoutConstants knows. */
const CONSTANTS = /^local ([A-Z][A-Z0-9_]*(?:, [A-Z][A-Z0-9_]*)*) = (.+(?:\n +\.\. .+)*)\n/gm;
const LITERAL = /^(?:\d+(?:\.\d+)?|\d+ \^ \d+|'[^'\\]*'(?:\s+\.\. '[^'\\]*')*)$/;
/** What may be the name of a constant, or holds none. */
const CONSTANT = /'[^'\n]*'|--.*$|(?<![\w.:])[A-Z][A-Z0-9_]*\b/gm;

/** Parts of `lua/lib` whose functions are made when the first of them is called. */
interface Part {
  readonly name: string;
  /** Those that are called from elsewhere. */
  readonly functions: readonly string[];
  readonly lua: string;
}

/**
 * Reads a Lua file with the named parts of `lua/lib` in place of its `--#include name` lines, and its names replaced. Each call of a
 * script makes all of its functions, which takes longer than a short task. So those that it does not use are left out, and those
 * that are rarely called are included by `--#include name … when called`, and made then; until then `of_name` is nil.
 */
export function luaSource(name: string): string {
  return once(known.scripts, name, assemble);
}

function assemble(name: string): string {
  const text = luaFile(`${name}.lua`);
  const names: string[] = [];
  const rare: string[] = [];
  const often = text.replace(INCLUDE, (_, included: string, whenCalled?: string) => {
    const lua = included.split(" ").map((part) => luaFile(`lib/${part}.lua`));
    if (!whenCalled) return lua.join("");
    names.push(included);
    rare.push(lua.join(""));
    return placeOf(names.length - 1);
  });
  const sources = withoutConstants(withoutUnused([often, ...rare]), name);
  const [body = "", ...used] = sources;
  const parts = used.map((lua, n) => partOf(names[n] ?? "", lua, sources));
  const whole = parts.reduce(
    (source, part, n) => source.replace(placeOf(n), () => whenCalled(part, parts)),
    throughParts(body, parts, `lua/${name}.lua`),
  );
  // Flags are for Redis 7 and later; older versions refuse the shebang.
  const flags = /^-- flags: (.+)$/m.exec(text)?.[1];
  return flags === undefined ? whole : `#!lua flags=${flags}\n${whole}`;
}

/**
 * Puts the values of constants in the places of their names: a function that refers to a variable takes longer to make, in each call.
 * @throws Error if a constant has two values
 */
function withoutConstants(sources: readonly string[], name: string): string[] {
  const values = new Map<string, string>();
  const left = sources.map((source) =>
    source.replace(CONSTANTS, (line, names: string, texts: string) => {
      const literals = texts.split(", ");
      if (!literals.every((literal) => LITERAL.test(literal))) return line;
      for (const [n, constant] of names.split(", ").entries()) {
        const value = literals[n]?.replace(/^.*\^.*$/, "($&)").replaceAll(/'\s+\.\. '/g, "") ?? "nil";
        if ((values.get(constant) ?? value) !== value) throw new Error(`lua/${name}.lua: ${constant} has two values`);
        values.set(constant, value);
      }
      return "";
    }),
  );
  return left.map((source) => source.replaceAll(CONSTANT, (word) => values.get(word) ?? word));
}

/** Leaves out the functions that are called nowhere, and those that only these call. */
function withoutUnused(sources: readonly string[]): string[] {
  const unused = new Set<string>();
  const definitions = sources
    .flatMap((source) => [...source.matchAll(DEFINITION)])
    .map(([text, name = ""]) => ({ text, name, words: once(known.words, text, wordsOf) }));
  const uses = new Map(wordsOf(sources.map((source) => source.replace(DEFINITION, "")).join("")));
  for (const { words } of definitions) for (const [word, count] of words) uses.set(word, (uses.get(word) ?? 0) + count);
  for (let before = -1; before < unused.size; ) {
    before = unused.size;
    for (const { text, name, words } of definitions) {
      if (unused.has(text) || uses.get(name) !== words.get(name)) continue;
      unused.add(text);
      for (const [word, count] of words) uses.set(word, (uses.get(word) ?? 0) - count);
    }
  }
  return sources.map((source) => source.replace(DEFINITION, (text) => (unused.has(text) ? "" : text)));
}

/** How often each word occurs in code. */
function wordsOf(lua: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const [word] of withoutComments(lua).matchAll(/\w+/g)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

const withoutComments = (lua: string): string => lua.replaceAll(/--.*$/gm, "");

function luaFile(file: string): string {
  return once(known.files, file, () => withoutNames(readFileSync(new URL(file, LUA_DIR), "utf8"), `lua/${file}`));
}

/** Marks the place of a part; in no Lua file. */
const placeOf = (n: number): string => `\0${n}\0`;

function partOf(names: string, lua: string, sources: readonly string[]): Part {
  const others = wordsOf(sources.filter((source) => source !== lua).join(""));
  const functions = [...lua.matchAll(FUNCTION)].map(([, of = ""]) => of);
  const called = functions.filter((of) => others.has(of));
  return { name: names.replaceAll(" ", "_"), functions: called, lua };
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
  const code = withoutComments(lua);
  for (const part of parts) {
    const variables = [...part.lua.matchAll(VARIABLES)].flatMap(([, names = ""]) => names.split(/, */));
    const used = [...variables, ...part.functions].find((of) => new RegExp(`(?<![\\w.'])${of}\\b(?!\\()`).test(code));
    if (used)
      throw new Error(`${file} uses ${used} of ${part.name}, which is made when one of its functions is called`);
  }
  return lua.replace(CALL, (call, of: string) => (owners.has(of) ? `${owners.get(of)}_part().${call}` : call));
}
