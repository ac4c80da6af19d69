import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect } from "chai";
import { ROOT } from "../shared/root.ts";

/** Files that the linter must refuse, with what is wrong with them and a part of what it says. */
const REFUSED = [
  ["engine/a.ts", 'import "../http/app.ts";', "The engine imports the store and leaves only."],
  ["store/verbs/a.ts", 'export type { Engine } from "../../engine/engine.ts";', "The store imports leaves only."],
  ["http/submit/a.ts", 'import "../../workers/worker.ts";', "does not know the other clients of the engine"],
  ["http/submit/b.ts", 'import "../../store/verbs/cancel.ts";', "called through scripts.ts"],
  ["workers/a.ts", 'import "../http/app.ts";', "does not know the other clients of the engine"],
  ["net/a.ts", 'import "../store/keys.ts";', "A leaf imports no floor above it."],
  ["loop.ts", 'import "./config/config.ts";', "everyone uses them"],
  ["handlers/a.ts", 'import "../engine/engine.ts";', "as a user would write it"],
  ["client/a.ts", 'import type { Task } from "../task.ts";', "it imports nothing but its own files"],
  ["client/b.ts", 'import { createHmac } from "node:crypto";', "it imports nothing but its own files"],
  ["http/submit/c.ts", 'import "../../client/index.ts";', "does not know the other clients of the engine"],
  ["engine/b.ts", "export const home = process.env.HOME;", "process.env"],
  ["engine/c.ts", "process.exit(1);", "touch the process"],
  ["engine/d.ts", 'import type { E } from "./e.ts";\nexport type D = E;', "part of a cycle"],
] as const;

describe("the floors", () => {
  let dir: string;
  /** What the linter says of each file. */
  let said: Map<string, string[]>;
  before(function () {
    this.timeout(60_000);
    dir = mkdtempSync(join(tmpdir(), "paihao-floors-"));
    for (const file of ["biome.json", "scripts/process.grit", ".gitignore"]) cpSync(join(ROOT, file), join(dir, file));
    const put = (file: string, code: string) => {
      mkdirSync(dirname(join(dir, "src", file)), { recursive: true });
      writeFileSync(join(dir, "src", file), `${code}\n`);
    };
    for (const [file, code] of REFUSED) put(file, code);
    put("engine/e.ts", 'import type { D } from "./d.ts";\nexport type E = D;');
    put("client/good.ts", 'import "./a.ts";');
    put("engine/good.ts", 'import "../store/verbs/scripts.ts";\nimport "../store/keys.ts";\nimport "../errors.ts";');
    const biome = join(ROOT, "node_modules/.bin/biome");
    const { stdout } = spawnSync(biome, ["lint", "--reporter=json", "--max-diagnostics=100", "src"], {
      cwd: dir,
      encoding: "utf8",
    });
    said = new Map();
    for (const { location, message, category } of JSON.parse(stdout).diagnostics) {
      const file = String(location.path?.file ?? location.path).replace(/^.*src\//, "");
      said.set(file, [...(said.get(file) ?? []), `${category} ${JSON.stringify(message)}`]);
    }
  });
  after(() => rmSync(dir, { recursive: true }));

  for (const [file, code, part] of REFUSED) {
    it(`refuse ${JSON.stringify(code.split("\n")[0])} in ${file}`, () => {
      expect(said.get(file)?.join("\n")).to.include(part);
    });
  }

  it("allow imports from lower floors", () => {
    expect(said.get("engine/good.ts") ?? []).to.deep.equal([]);
    expect(said.get("client/good.ts") ?? []).to.deep.equal([]);
  });
});
