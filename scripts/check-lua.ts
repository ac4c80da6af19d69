/**
 * Part of `npm run check`: checks that the names in the Lua files of src/store exist, and that each verb ends as it must; then runs
 * luacheck, if it is installed (Debian: lua-check).
 */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { assemble, MODULES, moduleName, tablesOf } from "../src/store/library/assemble.ts";
import * as VERBS from "../src/store/verbs/verbs.ts";
import { ROOT } from "../test/shared/root.ts";

const DIR = new URL("../src/store/", import.meta.url);
const faults: string[] = [];
const read = (file: string): string => readFileSync(new URL(file, DIR), "utf8");
const namesIn = (folder: string): string[] =>
  readdirSync(new URL(folder, DIR)).flatMap((file) => (file.endsWith(".lua") ? [file.slice(0, -".lua".length)] : []));
const withoutComments = (lua: string): string => lua.replaceAll(/--.*$/gm, "");
const modules = MODULES.map(moduleName);
const nouns = namesIn("verbs/");

/** The fields of the tables of names in the head, and of the modules. */
function fieldsOf(): Map<string, Set<string>> {
  const tables = new Map<string, Set<string>>();
  const library = assemble(DIR);
  for (const [, table = "", body = ""] of library.matchAll(/^local ([A-Z]) = \{\n(.*?)^\}/gms)) {
    tables.set(table, new Set([...body.matchAll(/^ {2}(\w+) = /gm)].map(([, field = ""]) => field)));
  }
  tables.set("K", new Set([...library.matchAll(/^function K\.(\w+)/gm)].map(([, kind = ""]) => kind)));
  for (const file of MODULES) {
    const name = moduleName(file);
    const defined = read(`lua/${file}.lua`).matchAll(new RegExp(`^(?:function )?${name}\\.(\\w+)(?:\\(| = )`, "gm"));
    tables.set(name, new Set([...defined].map(([, field = ""]) => field)));
  }
  return tables;
}

/** The local names of a file for tables of Layout: `local ARGS = Layout.pause.args`. */
function* aliasesIn(lua: string): Iterable<[string, string]> {
  for (const [, left = "", right = ""] of lua.matchAll(/^ *local ([A-Z][\w, ]*) = (.*)$/gm)) {
    const values = right.split(", ");
    for (const [n, name] of left.split(", ").entries()) {
      const [, path] = /^Layout\.([\w.]+)$/.exec(values[n] ?? "") ?? [];
      if (path !== undefined) yield [name, path];
    }
  }
}

const layouts = Object.fromEntries(Object.entries(VERBS).map(([verb, { layout }]) => [verb, tablesOf(layout)]));
/** What Layout has at a path: "pause.args.queue". */
const placeIn = (path: string): unknown =>
  path.split(".").reduce<unknown>((of, name) => (of as Record<string, unknown> | undefined)?.[name], layouts);

/** Names that do not exist, or that belong to modules later in the library. */
function checkNames(file: string, lua: string, tables: ReadonlyMap<string, ReadonlySet<string>>): void {
  const position = MODULES.findIndex((name) => file === `lua/${name}`);
  const later = position < 0 ? [] : modules.slice(position + 1);
  for (const [, table = "", field = ""] of lua.matchAll(/(?<![\w.'])([A-Z]\w*)\.(\w+)/g)) {
    const fields = table === "Layout" ? undefined : tables.get(table);
    if (fields && !fields.has(field)) faults.push(`${file}: there is no ${table}.${field}`);
    if (later.includes(table)) faults.push(`${file}: ${table} comes later in the library`);
  }
}

/** Arguments and members of answers that do not exist, or that are accessed by number. */
function checkLayouts(file: string, lua: string): void {
  const numbered = /\bargs\[(\d|#args|at \+ \d)/.exec(lua);
  if (numbered) faults.push(`${file}: an argument is accessed by its number: ${numbered[0]}`);
  const short = new Map([...aliasesIn(lua)]);
  for (const [, name = "", path = ""] of lua.matchAll(/(?<![\w.'])([A-Z]\w*)((?:\.\w+)+)/g)) {
    const of = name === "Layout" ? path.slice(1) : short.has(name) ? `${short.get(name)}${path}` : undefined;
    if (of !== undefined && placeIn(of) === undefined) faults.push(`${file}: no verb has ${name}${path}`);
  }
}

/** Verbs that do not document what they return, or that end without sending their notices. */
function checkVerbs(file: string, text: string): void {
  const registered = [...text.matchAll(/^register\('(\w+)', \{(?: '(?:allow-oom|no-writes)' )?\}, function/gm)];
  if (registered.length === 0) faults.push(`${file}: registers no verb`);
  for (const { index, 1: verb } of registered) {
    const header = text.slice(0, index).split("\n\n").at(-1) ?? "";
    if (!/\bReturns?\b/.test(header)) faults.push(`${file}: does not say what ${verb} returns`);
  }
  const body = withoutComments(text);
  const must = (used: RegExp, end: RegExp) => {
    if (used.test(body) && !end.test(body)) faults.push(`${file}: uses ${used.source}, and never ${end.source}`);
  };
  must(/\b(Settle|Lease|Completion|Notices)\.(?!send|work|listen|ends)/, /(Notices\.send|Settle\.close)\(call/);
  must(/\b(Lease|Completion|Rate\.count|Settle\.bury)\b/, /Settle\.close\(call/);
  must(
    /\b(Settle|Lease|Completion|Keyed)\.(?!parts|limit|asked|turn|delete|ends|close|write)/,
    /(Keyed\.(close|write)|Settle\.close)\(call/,
  );
}

const tables = fieldsOf();
if ([...MODULES].sort().join() !== namesIn("lua/").sort().join()) faults.push("lua/: MODULES does not list its files");
for (const file of [...MODULES.map((name) => `lua/${name}`), ...nouns.map((noun) => `verbs/${noun}`)]) {
  const text = read(`${file}.lua`);
  checkNames(file, withoutComments(text), tables);
  checkLayouts(file, withoutComments(text));
  if (file.startsWith("verbs/")) checkVerbs(file, text);
}
const registered = nouns.flatMap((noun) => [...read(`verbs/${noun}.lua`).matchAll(/^register\('(\w+)'/gm)]);
const verbs = registered.map(([, verb]) => verb).sort();
if (verbs.join() !== Object.keys(VERBS).sort().join())
  faults.push("verbs/: Lua and TypeScript do not have the same verbs");

const luacheck = spawnSync("luacheck", ["--quiet", "--no-color", "src/store", "--read-globals", ...modules], {
  cwd: ROOT,
  encoding: "utf8",
});
if (luacheck.status !== 0 && !luacheck.error) faults.push(luacheck.stdout);
for (const fault of faults) console.log(`✘ ${fault}`);
const luacheckSays = luacheck.error
  ? "luacheck skipped: it is not installed (Debian: apt install lua-check)"
  : luacheck.stdout.trim();
console.log(`Lua: ${verbs.length} verbs, ${modules.length} modules, ${faults.length} faults; ${luacheckSays}`);
process.exitCode = faults.length > 0 ? 1 : 0;
