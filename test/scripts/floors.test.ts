import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect } from "chai";
import { checkFloors } from "../../scripts/floors.ts";
import { readSource } from "../../scripts/source-text.ts";

describe("the floors check", () => {
  const trees: string[] = [];
  after(() => {
    for (const tree of trees) rmSync(tree, { recursive: true });
  });

  /** Writes the files as a src of their own and returns what the check says, as `file:line rule`. */
  const check = (files: Record<string, string>): string[] => {
    const src = mkdtempSync(join(tmpdir(), "paihao-floors-"));
    trees.push(src);
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(src, path)), { recursive: true });
      writeFileSync(join(src, path), text);
    }
    return checkFloors(src).map(({ file, line, rule }) => `${file}:${line} ${rule}`);
  };

  it("finds nothing in a tree that keeps to the floors", () => {
    const violations = check({
      "clock.ts": 'import { readFileSync } from "node:fs";\nexport const now = readFileSync;\n',
      "config.ts": "export const port = process.env.PORT;\n",
      "store/keys.ts": 'import { now } from "../clock.ts";\nexport { now };\n',
      "store/scripts/script.ts": 'import "./keys.ts";\nexport const path = "lua/submit.lua";\n',
      "store/servers/embedded-server.ts": 'process.once("SIGTERM", () => process.exit(0));\n',
      "engine/submit.ts": 'import { now } from "../store/keys.ts";\nimport { port } from "../config.ts";\n',
      "http/app.ts": 'import "../engine/submit.ts";\n',
      "workers/pool.ts": 'import "../engine/submit.ts";\n',
      "digest/page.ts": 'import { parse } from "htmlparser2";\nimport "../clock.ts";\n',
      "handlers/default.ts": 'import { defineHandler } from "paihao";\nimport "../digest/page.ts";\n',
      "index.ts": 'export { now } from "./clock.ts";\nexport * from "./http/app.ts";\n',
      "main.ts": 'import "./http/app.ts";\nimport "./workers/pool.ts";\nprocess.on("SIGTERM", stop);\n',
      "cli/paihao.ts": '#!/usr/bin/env node\nimport "../main.ts";\nprocess.exitCode = 1;\n',
    });
    expect(violations).to.deep.equal([]);
  });

  it("finds every form of an upward import, with its line", () => {
    const violations = check({
      "engine/submit.ts": "export const submit = 1;\n",
      "store/a.ts": '\nimport { submit } from "../engine/submit.ts";\n',
      "store/b.ts": 'import type { submit } from "../engine/submit.ts";\n',
      "store/c.ts": 'export {\n  submit,\n} from "../engine/submit.ts";\n',
      "store/d.ts": 'export const load = () => import("../engine/submit.ts");\n',
      "store/e.ts": 'import "../engine/submit.ts";\n',
      "store/f.ts": 'export type F = import("../engine/submit.ts").F;\n',
      "store/g.ts": 'export * as g from "../engine/submit.ts";\n',
    });
    const rule = "store must not import engine (engine/submit.ts), only leaves";
    expect(violations).to.deep.equal(
      ["a.ts:2", "b.ts:1", "c.ts:3", "d.ts:1", "e.ts:1", "f.ts:1", "g.ts:1"].map((at) => `store/${at} ${rule}`),
    );
  });

  it("keeps http, workers and webhooks apart, and everyone out of main and cli", () => {
    const violations = check({
      "http/app.ts": 'import "../workers/pool.ts";\n',
      "workers/pool.ts": "",
      "webhooks/send.ts": 'import "../http/app.ts";\nimport "../main.ts";\n',
      "main.ts": 'import "./cli/paihao.ts";\n',
      "cli/paihao.ts": "",
      "index.ts": 'import "./main.ts";\n',
      "clock.ts": 'import "./index.ts";\n',
    });
    expect(violations.map((v) => v.replace(/ \(.*/, ""))).to.deep.equal([
      "clock.ts:1 leaves must not import index",
      "http/app.ts:1 http must not import workers",
      "index.ts:1 index must not import main",
      "main.ts:1 main must not import cli",
      "webhooks/send.ts:1 webhooks must not import http",
      "webhooks/send.ts:2 webhooks must not import main",
    ]);
  });

  it("lets handlers see only leaves, digest and the package, and the client nothing", () => {
    const violations = check({
      "handlers/default.ts": 'import "../engine/submit.ts";\n',
      "engine/submit.ts": 'import "paihao";\n',
      "index.ts": "",
      "task.ts": "",
      "client/client.ts": 'import { z } from "zod";\nimport "../task.ts";\nimport "./wire.ts";\n',
      "client/wire.ts": "",
    });
    expect(violations).to.deep.equal([
      "client/client.ts:1 client runs in browsers and imports no package or Node module: zod",
      "client/client.ts:2 client must not import leaves (task.ts), only nothing",
      'engine/submit.ts:1 only handlers and digest import "paihao", all others by path',
      "handlers/default.ts:1 handlers must not import engine (engine/submit.ts), only leaves, digest, index",
    ]);
  });

  it("finds a cycle, also one through a type or through the package's own name", () => {
    const violations = check({
      "store/a.ts": 'import { b } from "./b.ts";\n',
      "store/b.ts": '\nimport type { C } from "./c.ts";\n',
      "store/c.ts": '\n\nimport { a } from "./a.ts";\n',
      "store/self.ts": 'import "./self.ts";\n',
      "index.ts": 'export * from "./handlers/x.ts";\n',
      "handlers/x.ts": 'import "paihao";\n',
    });
    expect(violations).to.include.members([
      "index.ts:1 import cycle: handlers/x.ts → index.ts → handlers/x.ts",
      "store/c.ts:3 import cycle: store/a.ts → store/b.ts → store/c.ts → store/a.ts",
      "store/self.ts:1 import cycle: store/self.ts → store/self.ts",
    ]);
  });

  it("finds the environment, the process and Lua files outside the places meant for them", () => {
    const violations = check({
      "log.ts": "export const level = process.env.LOG_LEVEL;\nconst { env } = process;\n",
      "store/a.ts": 'process.on("SIGTERM", () => {});\nprocess.exit(1);\nprocess\n  .once("exit", () => {});\n',
      "engine/b.ts": 'import { env } from "node:process";\nconst file = `lua/submit.lua`;\n',
    });
    const process =
      "only main, cli and the entries of child processes touch signals and exit; name nothing else `process`";
    expect(violations).to.deep.equal([
      "engine/b.ts:1 process is used as the global, where the checks see it",
      "engine/b.ts:2 only store/scripts/script.ts reads Lua files",
      "log.ts:1 only config.ts reads process.env",
      "log.ts:2 only config.ts reads process.env",
      `store/a.ts:1 ${process}`,
      `store/a.ts:2 ${process}`,
      `store/a.ts:3 ${process}`,
    ]);
  });

  it("is not misled by comments, strings, templates and regular expressions", () => {
    const violations = check({
      "store/a.ts": [
        '// import "../engine/x.ts"; process.env',
        '/* import "../engine/x.ts";\n process.exit(1) reads x.lua */',
        'const message = "see process.env and process.exit";',
        'this.#process.on("exit", () => child.process.exit);',
        `const quote = /["'\`]/.test(text) ? "process.env" : 1 / 2;`,
        `const shown = \`\${{ a: "}" }.a} import "../engine/x.ts" \${\`process.exit(\${1})\`}\`;`,
      ].join("\n"),
      "engine/x.ts": "",
    });
    expect(violations).to.deep.equal([]);
    const template = (rest: string) => `\`\${process.env.A}${rest}\``;
    const { code, bare } = readSource(`f(/[/"]/, "a//b"); // c\n${template("x")}`);
    expect(code).to.equal(`f(/[/"]/, "a//b");     \n${template("x")}`);
    expect(bare).to.equal(`f(/    /, "    ");     \n${template(" ")}`);
  });

  it("refuses a folder without a floor and an import of a file that is not there", () => {
    expect(check({ "utils/a.ts": "", "clock.ts": 'import "./time.ts";\nimport "../package.json";\n' })).to.deep.equal([
      "clock.ts:1 ./time.ts is no TypeScript file of src",
      "clock.ts:2 ../package.json is no TypeScript file of src",
      "utils/a.ts:1 no floor for src/utils: give it one in scripts/floors.ts",
    ]);
  });
});
