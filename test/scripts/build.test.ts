import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect } from "chai";
import { build } from "../../scripts/build.ts";
import { assemble } from "../../src/store/library/assemble.ts";
import { ROOT } from "../shared/root.ts";

describe("the build", () => {
  let root = "";
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "paihao-build-"));
    for (const file of ["package.json", "tsconfig.json", "src/tsconfig.json"])
      cpSync(join(ROOT, file), join(root, file));
    symlinkSync(join(ROOT, "node_modules"), join(root, "node_modules"));
    put("src/cli/paihao.ts", '#!/usr/bin/env node\nimport { name } from "../name.ts";\nprocess.stdout.write(name);\n');
    put("src/name.ts", 'export const name: string = "first";\n');
    for (const folder of ["src/store/lua", "src/store/verbs"])
      cpSync(join(ROOT, folder), join(root, folder), { recursive: true, filter: (path) => !path.endsWith(".ts") });
    put("src/extras/dashboard/app.js", "// as it is\n");
  });
  afterEach(() => rmSync(root, { recursive: true }));

  it("makes a dist that runs, with the assets and an executable command", () => {
    expect(build(root)).to.match(/^build: 2 TypeScript files compiled, 1 asset copied to dist in [\d.]+ s$/);
    expect(execFileSync(join(root, "dist/cli/paihao.js"), { encoding: "utf8" })).to.equal("first");
    expect(readFileSync(join(root, "dist/extras/dashboard/app.js"), "utf8")).to.equal("// as it is\n");
    expect(existsSync(join(root, "dist/name.d.ts"))).to.equal(false);
  });

  it("makes declarations as well where they are asked for, and keeps them", () => {
    build(root);
    build(root, { declarations: true });
    expect(readFileSync(join(root, "dist/name.d.ts"), "utf8")).to.equal("export declare const name: string;\n");
    expect(build(root)).to.equal("build: dist is up to date");
    expect(build(root, { declarations: true })).to.equal("build: dist is up to date");
  });

  it("joins the Lua files to the library that is loaded", () => {
    build(root);
    const built = readFileSync(join(root, "dist/store/library/library.lua"), "utf8");
    expect(built).to.equal(assemble(new URL("../../src/store/", import.meta.url)));
    expect(existsSync(join(root, "dist/store/lua"))).to.equal(false);
  });

  it("includes what the page of the API loads, with its licence, since that package is not installed in production", () => {
    put("src/extras/pages/docs/docs.html", "<!doctype html>\n");
    expect(build(root)).to.match(/7 assets copied/);
    const files = readdirSync(join(root, "dist/extras/pages/swagger-ui")).sort();
    expect(files).to.include.members(["LICENSE", "NOTICE", "swagger-ui-bundle.js.gz", "swagger-ui.css.gz"]);
    const css = gunzipSync(readFileSync(join(root, "dist/extras/pages/swagger-ui/swagger-ui.css.gz"))).toString();
    expect(css.slice(-100), "its map is not there").to.not.contain("sourceMappingURL");
  });

  it("does nothing if nothing has changed, else builds everything and says so before it begins", () => {
    const said: string[] = [];
    const say = (line: string) => said.push(line);
    build(root, { say });
    expect(build(root, { say })).to.equal("build: dist is up to date");
    expect(said.splice(0)).to.deep.equal(["build: compiling src to dist"]);
    put("src/name.ts", 'export const name = "second";\n');
    build(root, { say });
    expect(said).to.deep.equal(["build: compiling src to dist"]);
    expect(execFileSync(join(root, "dist/cli/paihao.js"), { encoding: "utf8" })).to.equal("second");
  });

  it("keeps nothing of a deleted source", () => {
    put("src/old.ts", "export const old = 1;\n");
    build(root);
    rmSync(join(root, "src/old.ts"));
    build(root);
    expect(existsSync(join(root, "dist/old.js"))).to.equal(false);
    expect(readdirSync(root).filter((name) => name.startsWith("dist"))).to.deep.equal(["dist"]);
  });

  it("fails on what is no TypeScript and leaves the last good dist", () => {
    build(root);
    put("src/name.ts", "export const name: = 1;\n");
    expect(() => build(root)).to.throw("src cannot be compiled");
    expect(execFileSync(join(root, "dist/cli/paihao.js"), { encoding: "utf8" })).to.equal("first");
    expect(() => build(root)).to.throw("src cannot be compiled");
    expect(readdirSync(root).filter((name) => name.startsWith("dist"))).to.deep.equal(["dist"]);
  });

  it("fails on an unknown kind of file in src, and without the package's command", () => {
    put("src/engine/notes.txt", "");
    expect(() => build(root)).to.throw("src/engine/notes.txt is neither TypeScript nor an asset");
    rmSync(join(root, "src/engine"), { recursive: true });
    put("src/store/stray.js", "");
    expect(() => build(root)).to.throw("src/store/stray.js is neither");
    rmSync(join(root, "src/store/stray.js"));
    rmSync(join(root, "src/cli"), { recursive: true });
    expect(() => build(root)).to.throw("src/cli/paihao.ts is missing");
  });
});
