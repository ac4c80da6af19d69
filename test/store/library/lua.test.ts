import { readdirSync, readFileSync } from "node:fs";
import { expect } from "chai";
import { assemble, MODULES, moduleName } from "../../../src/store/library/assemble.ts";

const DIR = new URL("../../../src/store/", import.meta.url);
const read = (file: string): string => readFileSync(new URL(file, DIR), "utf8");
const names = (folder: string): string[] =>
  readdirSync(new URL(folder, DIR)).flatMap((file) => (file.endsWith(".lua") ? [file.slice(0, -".lua".length)] : []));
const verbs = names("verbs/");
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

describe("the Lua files", () => {
  const tables = fieldsOf();
  const modules = MODULES.map(moduleName);

  it("are modules in the list of their order, and verbs", () => {
    expect(names("lua/").sort()).to.deep.equal([...MODULES].sort());
    expect(verbs).to.include.members(["submit", "reserve", "complete", "tick"]);
  });

  for (const file of [...MODULES.map((name) => `lua/${name}`), ...verbs.map((verb) => `verbs/${verb}`)]) {
    const position = MODULES.findIndex((name) => file === `lua/${name}`);
    const lua = withoutComments(read(`${file}.lua`));
    it(`use only names that there are, of modules before them: ${file}`, () => {
      const later = position < 0 ? [] : modules.slice(position + 1);
      for (const [, table = "", field = ""] of lua.matchAll(/(?<![\w.'])([A-Z]\w*)\.(\w+)/g)) {
        if (table === "OPTIONS") continue;
        expect([...(tables.get(table) ?? [])], `${table}.${field}`).to.include(field);
        expect(later).to.not.include(table);
      }
    });
  }

  for (const verb of verbs) {
    const text = read(`verbs/${verb}.lua`);
    const header = text.slice(0, text.search(/^(?!--)/m));
    const body = withoutComments(text);

    it(`are registered under their names, and say what they do, take and return: ${verb}`, () => {
      expect(body).to.match(new RegExp(`^register\\('${verb}', \\{(?: '(?:allow-oom|no-writes)' )?\\}, function`, "m"));
      expect(header).to.match(/^-- [A-Z].{10,}/);
      expect(header).to.match(/^-- Returns /m);
      const documented = [...header.matchAll(/^-- args\[([^\]]+?)(…?)\]\s+\S/gm)];
      const most = documented.some(([, , more]) => more !== "") ? Infinity : documented.length;
      for (const [, place = ""] of body.matchAll(/\bargs\[(\d+|#args)\]/g)) {
        if (place === "#args") expect(header).to.contain("-- args[#args]");
        else expect(Number(place)).to.be.at.most(most);
      }
    });

    it(`tell listeners and workers at the end of what they have changed: ${verb}`, () => {
      const notifies = /\b(Settle|Lease|Completion|Notices)\.(?!send|work|listen)/.test(body);
      if (notifies) expect(body).to.contain("Notices.send(call)");
      const frees = /\b(Settle|Lease|Completion|Keyed)\.(?!parts|line|limit|destroy|tell_freed|open_freed)/.test(body);
      if (frees) expect(body).to.match(/Keyed\.(tell|open)_freed\(call/);
    });
  }
});
