import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { parse } from "yaml";
import { VARIABLES } from "../../src/config/config.ts";
import { ROOT } from "../../testbed/root.ts";
import { runLine } from "../helpers/cli.ts";

const FILES = [
  ...[".env", ".gitignore", "README.md", "compose.yaml", "handlers/greet.ts", "package.json", "test/greet.test.ts"],
  "tsconfig.json",
];

/** The whole way, with npm, is in `npm run check:install`. */
describe("paihao init", () => {
  let dir = "";
  beforeEach(() => {
    dir = mkdtempSync(path.join(tmpdir(), "paihao-init-"));
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  const init = (line: string) => runLine(`paihao init ${line} --no-install`, { cwd: dir, env: {} });
  const read = (name: string) => readFileSync(path.join(dir, name), "utf8");
  const filesIn = (folder: string) =>
    readdirSync(path.join(dir, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => path.relative(path.join(dir, folder), path.join(entry.parentPath, entry.name)))
      .sort();

  it("writes a project into a new folder, and prints what it wrote and how to go on", async () => {
    const { code, printed } = await init("'My Tasks'");
    expect(code, printed).to.equal(0);
    expect(filesIn("My Tasks")).to.deep.equal([...FILES].sort());
    for (const file of FILES) expect(printed).to.contain(path.join("My Tasks", file));
    expect(printed).to.contain("npm start").and.contain("npm test");
    const manifest = JSON.parse(read("My Tasks/package.json"));
    const own = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8"));
    expect(manifest).to.include({ name: "my-tasks", private: true, type: "module" });
    expect(manifest.dependencies).to.include({ paihao: `^${own.version}`, zod: own.dependencies.zod });
    for (const name of Object.keys(parse(read("My Tasks/compose.yaml"), { merge: true }).services.api.environment)) {
      expect(VARIABLES).to.have.property(name);
    }
    for (const [, name = ""] of read("My Tasks/.env").matchAll(/^(?:# )?([A-Z_]+)=/gm)) {
      expect(VARIABLES).to.have.property(name);
    }
  });

  it("writes into a folder with other files, and leaves them alone", async () => {
    writeFileSync(path.join(dir, "LICENSE"), "mine");
    const { code, printed } = await init(". --from ../paihao.tgz");
    expect(code, printed).to.equal(0);
    expect(read("LICENSE")).to.equal("mine");
    const { dependencies } = JSON.parse(read("package.json"));
    expect(dependencies.paihao, "relative to where the command was given").to.match(/^file:\/.*\/paihao\.tgz$/);
    expect(dependencies.paihao).to.not.contain("..");
  });

  it("writes nothing where one of its files exists, and names all of them", async () => {
    writeFileSync(path.join(dir, "package.json"), "{}");
    mkdirSync(path.join(dir, "handlers"));
    writeFileSync(path.join(dir, "handlers/greet.ts"), "");
    const { code, printed } = await init(".");
    expect(code).to.equal(6);
    expect(printed).to.contain(`${dir} has package.json, handlers/greet.ts already; nothing was written`);
    expect(filesIn(".")).to.deep.equal(["handlers/greet.ts", "package.json"]);
  });

  it("says so if there is a file in the place of the folder", async () => {
    writeFileSync(path.join(dir, "tasks"), "");
    const { code, printed } = await init("tasks");
    expect(code).to.equal(1);
    expect(printed).to.match(/^paihao: .*tasks.* cannot be looked at: ENOTDIR/m);
  });
});
