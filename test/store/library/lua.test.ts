import { readdirSync, readFileSync } from "node:fs";
import { expect } from "chai";
import { assemble, MODULES, moduleName, tablesOf } from "../../../src/store/library/assemble.ts";
import * as VERBS from "../../../src/store/verbs/verbs.ts";

const DIR = new URL("../../../src/store/", import.meta.url);
const read = (file: string): string => readFileSync(new URL(file, DIR), "utf8");
const names = (folder: string): string[] =>
  readdirSync(new URL(folder, DIR)).flatMap((file) => (file.endsWith(".lua") ? [file.slice(0, -".lua".length)] : []));
const nouns = names("verbs/");
const verbs = Object.entries(VERBS);
const withoutComments = (lua: string): string => lua.replaceAll(/--.*$/gm, "");

/** The fields of the tables of names in the head, and of the modules. */
function fieldsOf(): Map<string, Set<string>> {
  const tables = new Map<string, Set<string>>();
  for (const [, table = "", body = ""] of assemble(DIR).matchAll(/^local ([A-Z]) = \{\n(.*?)^\}/gms)) {
    tables.set(table, new Set([...body.matchAll(/^ {2}(\w+) = /gm)].map(([, field = ""]) => field)));
  }
  tables.set("K", new Set([...assemble(DIR).matchAll(/^function K\.(\w+)/gm)].map(([, kind = ""]) => kind)));
  for (const file of MODULES) {
    const name = moduleName(file);
    const defined = read(`lua/${file}.lua`).matchAll(new RegExp(`^(?:function )?${name}\\.(\\w+)(?:\\(| = )`, "gm"));
    tables.set(name, new Set([...defined].map(([, field = ""]) => field)));
  }
  return tables;
}

/** What the names stand for that a file has for tables of Layout: `local ARGS = Layout.pause.args`. */
function* aliasesIn(lua: string): Iterable<[string, string]> {
  for (const [, left = "", right = ""] of lua.matchAll(/^ *local ([A-Z][\w, ]*) = (.*)$/gm)) {
    const values = right.split(", ");
    for (const [n, name] of left.split(", ").entries()) {
      const [, path] = /^Layout\.([\w.]+)$/.exec(values[n] ?? "") ?? [];
      if (path !== undefined) yield [name, path];
    }
  }
}

/** What Layout has at a path: "pause.args.queue". */
function placeIn(path: string): unknown {
  const layouts = Object.fromEntries(verbs.map(([verb, { layout }]) => [verb, tablesOf(layout)]));
  return path.split(".").reduce<unknown>((of, name) => (of as Record<string, unknown> | undefined)?.[name], layouts);
}

describe("the Lua files", () => {
  const tables = fieldsOf();
  const modules = MODULES.map(moduleName);

  it("are modules in the list of their order, and verbs", () => {
    expect(names("lua/").sort()).to.deep.equal([...MODULES].sort());
    expect(nouns).to.include.members(["submit", "reserve", "lease", "tick"]);
  });

  for (const file of [...MODULES.map((name) => `lua/${name}`), ...nouns.map((noun) => `verbs/${noun}`)]) {
    const position = MODULES.findIndex((name) => file === `lua/${name}`);
    const lua = withoutComments(read(`${file}.lua`));
    it(`use only names that there are, of modules before them: ${file}`, () => {
      const later = position < 0 ? [] : modules.slice(position + 1);
      for (const [, table = "", field = ""] of lua.matchAll(/(?<![\w.'])([A-Z]\w*)\.(\w+)/g)) {
        if (table === "Layout" || !tables.has(table)) continue;
        expect([...(tables.get(table) ?? [])], `${table}.${field}`).to.include(field);
        expect(later).to.not.include(table);
      }
    });
  }

  for (const file of [...MODULES.map((name) => `lua/${name}`), ...nouns.map((noun) => `verbs/${noun}`)]) {
    it(`find arguments and members of answers by names that their verbs have: ${file}`, () => {
      const lua = withoutComments(read(`${file}.lua`));
      expect(lua).to.not.match(/\bargs\[(\d|#args|at \+ \d)/);
      const short = new Map([...aliasesIn(lua)]);
      for (const [, name = "", path = ""] of lua.matchAll(/(?<![\w.'])([A-Z]\w*)((?:\.\w+)+)/g)) {
        const of = name === "Layout" ? path.slice(1) : short.has(name) ? `${short.get(name)}${path}` : undefined;
        if (of !== undefined) expect(placeIn(of), `${name}${path}`).to.not.equal(undefined);
      }
    });
  }

  for (const noun of nouns) {
    const text = read(`verbs/${noun}.lua`);
    const registered = [...text.matchAll(/^register\('(\w+)', \{(?: '(?:allow-oom|no-writes)' )?\}, function/gm)];

    it(`register verbs, and say what they do and return: ${noun}`, () => {
      expect(text).to.match(/^-- [A-Z].{10,}/);
      expect(registered).to.not.equal([]);
      for (const { index } of registered) {
        expect(text.slice(0, index).split("\n\n").at(-1)).to.match(/\bReturns?\b/);
      }
    });

    it(`tell listeners and workers at the end of what they have changed: ${noun}`, () => {
      const body = withoutComments(text);
      const notifies = /\b(Settle|Lease|Completion|Notices)\.(?!send|work|listen|ends)/.test(body);
      if (notifies) expect(body).to.match(/(Notices\.send|Settle\.close)\(call/);
      if (/\b(Lease|Completion|Rate\.count|Settle\.bury)\b/.test(body)) expect(body).to.contain("Settle.close(call");
      const frees = /\b(Settle|Lease|Completion|Keyed)\.(?!parts|line|limit|destroy|ends|tell_freed|open_freed)/.test(
        body,
      );
      if (frees) expect(body).to.match(/(Keyed\.(tell|open)_freed|Settle\.close)\(call/);
    });
  }

  it("register each verb once, with a caller in TypeScript", () => {
    const all = nouns.flatMap((noun) => [...read(`verbs/${noun}.lua`).matchAll(/^register\('(\w+)'/gm)]);
    expect(all.map(([, verb]) => verb).sort()).to.deep.equal(verbs.map(([verb]) => verb).sort());
  });
});
