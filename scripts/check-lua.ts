/**
 * Part of `npm run check`: checks that the names in the Lua files of the core and of the extras exist, and that each verb ends as it must; then runs
 * luacheck, if it is installed (Debian: lua-check).
 */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { PARTS } from "../src/extras/extras.ts";
import { assemble, tableOf, tablesOf } from "../src/store/library/assemble.ts";
import { CORE } from "../src/store/library/core.ts";
import { ROOT } from "../test/shared/root.ts";

const ALL = [CORE, ...PARTS];
const SRC = new URL("../src/", import.meta.url);
const faults: string[] = [];
/** The Lua files of all parts, by their paths below src. */
const files: readonly string[] = ALL.flatMap((part) =>
  part.files.map((file) => new URL(`${file}.lua`, part.folder).href.slice(SRC.href.length)),
);
const read = (file: string): string => readFileSync(new URL(file, SRC), "utf8");
const withoutComments = (lua: string): string => lua.replaceAll(/--.*$/gm, "");
/** The files that give a table to the others, and its name. */
const tableFiles = files.flatMap((file): [file: string, table: string][] => {
  const table = tableOf(read(file));
  return table === undefined ? [] : [[file, table]];
});
const modules = tableFiles.map(([, table]) => table);
const verbNames = ALL.flatMap(({ verbs }) => Object.entries(verbs));

/** The fields of the tables of names in the head, and of the modules. */
function fieldsOf(): Map<string, Set<string>> {
  const tables = new Map<string, Set<string>>();
  const library = assemble(ALL);
  for (const [, table = "", body = ""] of library.matchAll(/^local ([A-Z]) = \{\n(.*?)^\}/gms)) {
    tables.set(table, new Set([...body.matchAll(/^ {2}(\w+) = /gm)].map(([, field = ""]) => field)));
  }
  tables.set("K", new Set([...library.matchAll(/^function K\.(\w+)/gm)].map(([, kind = ""]) => kind)));
  for (const [file, name] of tableFiles) {
    const defined = read(file).matchAll(new RegExp(`^(?:function )?${name}\\.(\\w+)(?:\\(| = )`, "gm"));
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

const layouts = Object.fromEntries(verbNames.map(([verb, { layout }]) => [verb, tablesOf(layout ?? {})]));
/** What Layout has at a path: "pause.args.queue". */
const placeIn = (path: string): unknown =>
  path.split(".").reduce<unknown>((of, name) => (of as Record<string, unknown> | undefined)?.[name], layouts);

/** Names that do not exist. */
function checkNames(file: string, lua: string, tables: ReadonlyMap<string, ReadonlySet<string>>): void {
  for (const [, table = "", field = ""] of lua.matchAll(/(?<![\w.'])([A-Z]\w*)\.(\w+)/g)) {
    const fields = table === "Layout" ? undefined : tables.get(table);
    if (fields && !fields.has(field)) faults.push(`${file}: there is no ${table}.${field}`);
  }
}

/** A table that does not have the name of its file, or that of another one. */
function checkTable(file: string, table: string): void {
  if (table.toLowerCase() !== /([\w-]+)\.lua$/.exec(file)?.[1]?.replaceAll("-", ""))
    faults.push(`${file}: gives ${table}`);
  if (modules.indexOf(table) !== modules.lastIndexOf(table)) faults.push(`${file}: another file gives ${table} too`);
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
  const registered = [...text.matchAll(/^register(?:_hot)?\('(\w+)', \{(?: '(?:allow-oom|no-writes)' )?\}, /gm)];
  if (registered.length === 0) {
    if (tableOf(text) === undefined) faults.push(`${file}: registers no verb, and gives others no table`);
    return;
  }
  for (const { index, 1: verb } of registered) {
    const header = text.slice(0, index).split("\n\n").at(-1) ?? "";
    if (!/\bReturns?\b/.test(header)) faults.push(`${file}: does not say what ${verb} returns`);
  }
  const body = withoutComments(text);
  const must = (used: RegExp, end: RegExp) => {
    if (used.test(body) && !end.test(body)) faults.push(`${file}: uses ${used.source}, and never ${end.source}`);
  };
  must(/\b(Settle|Lease|Complete|Notices)\.(?!send|work|listen|ends)/, /(Notices\.send|Settle\.close)\(call/);
  must(/\b(Lease|Complete|Rate\.count|Settle\.bury)\b/, /Settle\.close\(call/);
  must(
    /\b(Settle|Lease|Complete|Keyed)\.(?!parts|limit|asked|turn|is_full|delete|ends|close|write)/,
    /(Keyed\.(close|write)|Settle\.close)\(call/,
  );
}

const tables = fieldsOf();
for (const file of readdirSync(SRC, { recursive: true, encoding: "utf8" }))
  if (file.endsWith(".lua") && !files.includes(file)) faults.push(`${file}: no part of the library lists it`);
for (const [file, table] of tableFiles) checkTable(file, table);
for (const file of files) {
  const text = read(file);
  checkNames(file, withoutComments(text), tables);
  checkLayouts(file, withoutComments(text));
  checkVerbs(file, text);
}
const registered = files.flatMap((file) => [...read(file).matchAll(/^register(?:_hot)?\('(\w+)'/gm)]);
const verbs = registered.map(([, verb]) => verb).sort();
if (
  verbs.join() !==
  verbNames
    .map(([name]) => name)
    .sort()
    .join()
)
  faults.push("Lua and TypeScript do not have the same verbs");

const luacheck = spawnSync(
  "luacheck",
  ["--quiet", "--no-color", "src/store", "src/extras", "--read-globals", ...modules],
  {
    cwd: ROOT,
    encoding: "utf8",
  },
);
if (luacheck.status !== 0 && !luacheck.error) faults.push(luacheck.stdout);
for (const fault of faults) console.log(`✘ ${fault}`);
const luacheckSays = luacheck.error
  ? "luacheck skipped: it is not installed (Debian: apt install lua-check)"
  : luacheck.stdout.trim();
console.log(`Lua: ${verbs.length} verbs, ${files.length} files, ${faults.length} faults; ${luacheckSays}`);
process.exitCode = faults.length > 0 ? 1 : 0;
