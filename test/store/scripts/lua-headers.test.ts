import { readdirSync, readFileSync } from "node:fs";
import { expect } from "chai";
import { luaSource } from "../../../src/store/scripts/lua-source.ts";

const DIR = new URL("../../../src/store/scripts/lua/", import.meta.url);
const names = readdirSync(DIR).flatMap((file) => (file.endsWith(".lua") ? [file.slice(0, -4)] : []));

/** The comment a file opens with, and the rest. */
function split(name: string): { header: string; body: string } {
  const lines = readFileSync(new URL(`${name}.lua`, DIR), "utf8").split("\n");
  const end = lines.findIndex((line) => !line.startsWith("--"));
  return { header: lines.slice(0, end).join("\n"), body: lines.slice(end).join("\n") };
}

/** What a header says of the arguments: `ARGV[3]  name: …`, `ARGV[2…] a, b, …`, `ARGV[#ARGV] name: …`. */
function documented(header: string, list: "KEYS" | "ARGV"): string[] {
  return [...header.matchAll(new RegExp(`^-- ${list}\\[([^\\]]+)\\]\\s+\\S`, "gm"))].map((match) => match[1] ?? "");
}

/** What a body uses of them: literal places, and whether it computes any or hands all of them on, from a place, to a part. */
function used(body: string, list: "KEYS" | "ARGV"): { literal: Set<string>; computed: boolean } {
  const places = [...body.matchAll(new RegExp(`${list}\\[([^\\]]+)\\]`, "g"))].map((match) => (match[1] ?? "").trim());
  const isLiteral = (place: string) => /^\d+$/.test(place) || place === `#${list}`;
  return {
    literal: new Set(places.filter(isLiteral)),
    computed:
      places.some((place) => !isLiteral(place)) ||
      new RegExp(`unpack\\(${list}|ipairs\\(${list}|\\(${list}, \\d`).test(body),
  };
}

describe("the header of a Lua file", () => {
  it("exists in each of them", () => expect(names).to.include.members(["submit", "reserve", "complete", "tick"]));

  for (const name of names) {
    describe(name, () => {
      const { header, body } = split(name);

      it("says what the script does and what it returns", () => {
        expect(header.split("\n")[0]).to.match(/^-- [A-Z].{10,}/);
        expect(header).to.match(/^-- Returns /m);
      });

      it("documents the keys and arguments that the body uses, and no others", () => {
        for (const list of ["KEYS", "ARGV"] as const) {
          const said = documented(header, list);
          const { literal, computed } = used(body, list);
          const repeated = said.filter((place) => place.endsWith("…"));
          expect([...literal].sort(), `${list} used`).to.deep.equal(
            said.filter((place) => !place.endsWith("…")).sort(),
          );
          expect(computed, `${list} computed`).to.equal(repeated.length > 0);
        }
      });

      it("binds its keys and arguments to names before it uses them", () => {
        expect(body.trimStart()).to.match(/^local base = KEYS\[1\]\n/);
      });

      it("sends the notices that it gathers", () => {
        const whenMade = /^--#include notify when called$/m.test(body);
        const sends = whenMade ? /^ *if of_notify then send_notices\(\) end$/m : /^ *send_notices\(\)$/m;
        expect(/^--#include notify\b/m.test(body)).to.equal(sends.test(body));
      });

      it("names only flags that Redis knows, and parts that exist", () => {
        const flags = /^-- flags: (.+)$/m.exec(header)?.[1]?.split(", ") ?? [];
        for (const flag of flags) expect(flag).to.be.oneOf(["allow-oom", "no-writes"]);
        expect(luaSource(name)).to.not.match(/^--#include/m);
      });

      it("has constants in no variables", () => {
        expect(luaSource(name)).to.not.match(/^local [A-Z][A-Z0-9_]* = (?:[\d.]+|'[^']*')$/m);
      });
    });
  }
});
