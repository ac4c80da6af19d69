import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { parse } from "yaml";
import { VARIABLES } from "../../src/config/variables.ts";
import { runLine } from "../helpers/cli.ts";
import { ROOT } from "../shared/root.ts";

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
  const put = (name: string, text: string) => writeFileSync(path.join(dir, name), text);
  const read = (name: string) => readFileSync(path.join(dir, name), "utf8");
  const own = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8"));
  const filesIn = (folder: string) =>
    readdirSync(path.join(dir, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => path.relative(path.join(dir, folder), path.join(entry.parentPath, entry.name)))
      .sort();
  const dockerfileIn = (folder: string): string =>
    parse(read(path.join(folder, "compose.yaml")), { merge: true }).services.api.build.dockerfile_inline;

  it("writes a project into a new folder, and prints what it wrote and how to go on", async () => {
    const { code, printed } = await init("'My Tasks' --from ^0.1.0");
    expect(code, printed).to.equal(0);
    expect(filesIn("My Tasks")).to.deep.equal([...FILES].sort());
    for (const file of FILES) expect(printed).to.contain(path.join("My Tasks", file));
    expect(printed).to.contain("npm start").and.contain("npm test").and.contain("paihao is ^0.1.0");
    const manifest = JSON.parse(read("My Tasks/package.json"));
    expect(manifest).to.include({ name: "my-tasks", private: true, type: "module" });
    expect(manifest.dependencies).to.include({ paihao: "^0.1.0", zod: own.dependencies.zod });
    for (const name of Object.keys(parse(read("My Tasks/compose.yaml"), { merge: true }).services.api.environment)) {
      expect(VARIABLES).to.have.property(name);
    }
    expect(dockerfileIn("My Tasks")).to.contain("COPY package*.json").and.not.contain("vendor");
    for (const [, name = ""] of read("My Tasks/.env").matchAll(/^(?:# )?([A-Z_]+)=/gm)) {
      expect(VARIABLES).to.have.property(name);
    }
  });

  it("keeps the package that it was run from in the project, for npm and for compose.yaml, and asks no registry for it", async () => {
    const { code, printed } = await init(".");
    expect(code, printed).to.equal(0);
    const packed = `vendor/paihao-${own.version}.tgz`;
    expect(filesIn(".")).to.include(packed);
    expect(printed).to.contain(`paihao is file:${packed}, from ${ROOT.replace(/\/$/, "")}`);
    expect(JSON.parse(read("package.json")).dependencies.paihao).to.equal(`file:${packed}`);
    expect(dockerfileIn("."), "before npm installs").to.match(/COPY vendor \.\/vendor\n *RUN npm install/);
    const again = await init(`again --from ./${packed}`);
    expect(again.code, again.printed).to.equal(0);
    expect(readFileSync(path.join(dir, "again", packed)).equals(readFileSync(path.join(dir, packed)))).to.equal(true);
  });

  it("adds what is missing to an existing README, .gitignore, settings and package.json, once confirmed", async () => {
    put("README.md", "mine");
    put("LICENSE", "mine");
    put(".gitignore", "dist\n/node_modules");
    put(".env", "PORT=8080");
    put(
      "package.json",
      `{\n\t"name": "mine",\n\t"scripts": { "test": "mocha" },\n\t"dependencies": { "zod": "^4.0.0" }\n}\n`,
    );
    const before = filesIn(".").map((name) => [name, read(name)]);
    const asked = await init(". --from ^0.1.0");
    expect(asked.code, asked.printed).to.equal(2);
    expect(asked.printed)
      .to.contain("package.json gets scripts.start, scripts.test:tasks, dependencies.paihao")
      .and.contain(".gitignore gets .paihao/")
      .and.contain("add --yes");
    expect(filesIn(".").map((name) => [name, read(name)])).to.deep.equal(before);

    const { code, printed } = await init(". --from ^0.1.0 --yes");
    expect(code, printed).to.equal(0);
    expect([read("README.md"), read("LICENSE")]).to.deep.equal(["mine", "mine"]);
    expect(read(".gitignore")).to.equal("dist\n/node_modules\n.paihao/\n");
    expect(read(".env")).to.equal("PORT=8080\nHANDLERS=handlers\n");
    expect(read("package.json")).to.match(/^\{\n\t"name"/);
    const manifest = JSON.parse(read("package.json"));
    expect(manifest.scripts).to.include({ test: "mocha", start: "paihao start" }).and.have.property("test:tasks");
    expect(manifest.dependencies).to.include({ zod: "^4.0.0", paihao: "^0.1.0" });
    // Its .ts files need not be ES modules.
    expect(filesIn(".")).to.include.members(["handlers/greet.mts", "test/greet.test.mts"]);
    expect(read("test/greet.test.mts")).to.contain("../handlers/greet.mts");
    expect(printed).to.contain("npm run test:tasks").and.contain("README.md already exists");
  });

  it("uses the package that package.json already installs, unless that is a file outside", async () => {
    put("package.json", '{"type":"module","devDependencies":{"paihao":"0.1.0"}}');
    expect((await init(". --yes")).code).to.equal(0);
    expect(JSON.parse(read("package.json")).dependencies).to.not.have.property("paihao");
    mkdirSync(path.join(dir, "other"));
    put("other/package.json", '{"type":"module","dependencies":{"paihao":"file:../paihao.tgz"}}');
    expect((await init("other --yes")).code).to.equal(0);
    expect(JSON.parse(read("other/package.json")).dependencies.paihao).to.match(/^file:vendor\//);
    expect(dockerfileIn("other")).to.contain("COPY vendor");
  });

  it("writes nothing if its handler or test already exists, or package.json is invalid", async () => {
    put("package.json", "[]");
    const none = await init(". --yes");
    expect(none.code).to.equal(6);
    expect(none.printed).to.contain("is not a JSON object; nothing was written");
    put("package.json", '{"type":"module"}');
    mkdirSync(path.join(dir, "handlers"));
    put("handlers/greet.ts", "");
    const { code, printed } = await init(". --yes");
    expect(code).to.equal(6);
    expect(printed).to.contain(`${dir} already has handlers/greet.ts; nothing was written`);
    expect(filesIn(".")).to.deep.equal(["handlers/greet.ts", "package.json"]);
  });

  it("says so if there is a file in place of the folder", async () => {
    put("tasks", "");
    const { code, printed } = await init("tasks");
    expect(code).to.equal(1);
    expect(printed).to.match(/^paihao: .*tasks.* cannot be read: ENOTDIR/m);
  });

  it("makes settings that the other commands read as well", async () => {
    put(".env", "PORT=1\n");
    const { code, printed } = await runLine("paihao queues", { cwd: dir, env: {} });
    expect(code).to.equal(4);
    expect(printed).to.contain("http://127.0.0.1:1");
  });
});
