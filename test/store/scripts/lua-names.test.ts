import { readdirSync, readFileSync } from "node:fs";
import { expect } from "chai";
import { TASK_FIELDS } from "../../../src/store/fields.ts";
import { KEYS } from "../../../src/store/keys.ts";
import { withoutNames } from "../../../src/store/scripts/lua-names.ts";

const LUA = new URL("../../../src/store/scripts/lua/", import.meta.url);
const lua = (code: string) => withoutNames(code, "lua/some.lua");

describe("the names of a Lua file", () => {
  it("become the keys, fields, letters and numbers that they stand for", () => {
    expect(lua("redis.call('HGET', K.task(id), F.state) == S.waiting")).to.equal(
      "redis.call('HGET', base .. 't:' .. id, 's') == 'w'",
    );
    expect(lua("redis.call('ZADD', K.waiting(of(t[1])), C.classSpan, P.dead, Q.answers, N.destroyed)")).to.equal(
      "redis.call('ZADD', base .. 'w:' .. of(t[1]), 35184372088832, 'x:', 'V', 'g')",
    );
    expect(lua("local BLOCKS, all = C.forecastBlocks, K.queues")).to.equal(
      "local BLOCKS, all = { 16, 64, 256, 1024 }, base .. 'queues'",
    );
  });

  it("are joined into one literal with adjacent strings", () => {
    expect(lua("K.waiting(C.undoQueue) .. 'new ' .. S.waiting .. ' ' .. A.fail .. fence")).to.equal(
      "base .. 'w:paihao.undo' .. 'new w f' .. fence",
    );
  });

  it("stay as they are in comments", () => expect(lua("  -- as F.nothing")).to.equal("  -- as F.nothing"));

  for (const [wrong, name] of [
    ["F.stat", "F.stat"],
    ["K.tusk(id)", "K.tusk(id)"],
    ["K.task", "K.task"],
    ["K.queues(id)", "K.queues(id)"],
    ["S.toString", "S.toString"],
  ] as const) {
    it(`are refused with file and line if they do not exist: ${wrong}`, () => {
      expect(() => lua(`local a = 1\nreturn ${wrong}`)).to.throw(`lua/some.lua:2: there is no ${name}`);
    });
  }

  it("are used for every key and field", () => {
    for (const file of readdirSync(LUA, { recursive: true }).map(String)) {
      if (!file.endsWith(".lua")) continue;
      const code = readFileSync(new URL(file, LUA), "utf8").replace(/^\s*--.*$/gm, "");
      expect(code.match(/'[a-zA-Z]:?'|'paihao\.\w+'/g), file).to.equal(null);
    }
  });
});

describe("the fields of a task, and the kinds of key", () => {
  it("have short forms of their own", () => {
    for (const forms of [Object.values(TASK_FIELDS), Object.values(KEYS)].map((all) => all.map(([form]) => form))) {
      expect(new Set(forms).size).to.equal(forms.length);
    }
  });
});

describe("ARCHITECTURE.md", () => {
  it("has a row for each kind of key, with its type", () => {
    const text = readFileSync(new URL("../../../ARCHITECTURE.md", import.meta.url), "utf8");
    const table = text.slice(text.indexOf("\n## Keys"), text.indexOf("\n## What holds"));
    const rows = table
      .split("\n")
      .filter((line) => line.startsWith("| `"))
      .flatMap((line) => {
        const [, keys = "", type = ""] = line.split("|").map((cell) => cell.trim());
        return [...keys.matchAll(/`([^`]+)`/g)].map(([, key]) => `${key} ${type}`);
      });
    expect(rows.sort()).to.deep.equal(
      Object.values(KEYS)
        .map(([form, type]) => `${form} ${type}`)
        .sort(),
    );
  });
});
