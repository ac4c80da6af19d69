import { execFile } from "node:child_process";
import { copyFile, cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { expect } from "chai";
import type { StartError } from "../../src/errors.ts";
import { loadHandlers, shippedHandlersDir } from "../../src/handler/load.ts";
import { expectStartError } from "../helpers/start-error.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../", import.meta.url));

/** A handler file's text. */
const handler = (queue: string, name = "handler") =>
  `import { defineHandler } from "paihao";\nexport const ${name} = defineHandler({ queue: "${queue}", run: () => "${queue}" });\n`;
/** As {@link handler}, with syntax that only TypeScript has. */
const typed = (queue: string) =>
  `import { defineHandler, type TaskContext } from "paihao";\nenum E { Queue = "${queue}" }\n` +
  `export const typed = defineHandler<string>({ queue: E.Queue, run: (input: string, task: TaskContext): string => task.id });\n`;

describe("the loader of handler files", () => {
  /** Outside of the repository: no package.json and no node_modules above it. */
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp(path.join(tmpdir(), "paihao-handlers-"));
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  const write = async (files: Readonly<Record<string, string>>): Promise<void> => {
    for (const [name, text] of Object.entries(files)) {
      await mkdir(path.dirname(path.join(dir, name)), { recursive: true });
      await writeFile(path.join(dir, name), text);
    }
  };
  const queues = async (): Promise<string[]> => [...(await loadHandlers(dir)).keys()];

  it("loads the handlers that are shipped", async () => {
    const handlers = await loadHandlers(shippedHandlersDir);
    expect([...handlers.keys()]).to.deep.equal(["default"]);
  });

  it("makes each export of defineHandler a queue, file by file in order", async () => {
    await write({
      "b.mts": typed("from-mts"),
      "a.js": `${handler("from-js")}${handler("second", "other").split("\n")[1]}\nexport const number = 1;`,
      "c.mjs": `import { defineHandler } from "paihao";\nexport default defineHandler({ queue: "from-mjs", run() {} });`,
      "d.ts": typed("from-ts"),
    });
    expect(await queues()).to.deep.equal(["from-js", "second", "from-mts", "from-mjs", "from-ts"]);
  });

  it("leaves everything else in the directory alone", async () => {
    const broken = "this is no JavaScript";
    await write({
      "a.js": handler("a"),
      "helper.js": "export const nothing = 0;",
      "readme.md": broken,
      "a.d.ts": broken,
      "a.d.mts": broken,
      "a.js.map": broken,
      "a.test.js": broken,
      "a.test.ts": broken,
      ".hidden.js": broken,
      "old.cjs": broken,
      "deeper/b.js": broken,
      "directory.js/c.js": broken,
    });
    expect(await queues()).to.deep.equal(["a"]);
  });

  it("follows links, which a mounted ConfigMap consists of", async () => {
    await write({ "..data/a.js": handler("linked") });
    await symlink(path.join("..data", "a.js"), path.join(dir, "a.js"));
    expect(await queues()).to.deep.equal(["linked"]);
  });

  it("counts the same handler exported twice as one", async () => {
    await write({
      "a.ts": handler("a"),
      "index.ts": 'export * from "./a.ts";\nexport { handler as again } from "./a.ts";',
    });
    expect(await queues()).to.deep.equal(["a"]);
  });

  it("lets files import their own modules, ES or CommonJS, and data, in a directory without a package.json", async () => {
    await write({
      "a.ts":
        'import { where } from "./lib/where.ts"; import { js } from "./lib/esm.js"; import cjs from "./lib/common.js";\n' +
        'import data from "./data.json" with { type: "json" };\nimport { defineHandler } from "paihao";\n' +
        "export const a = defineHandler({ queue: [where, js, cjs.word, data.word].join('-'), run() {} });",
      "lib/where.ts":
        'import { defineHandler } from "paihao";\nexport const where: string = await Promise.resolve(typeof defineHandler);',
      "lib/esm.js": 'import { z } from "zod";\nexport const js = typeof z.object;',
      "lib/common.js": 'module.exports = { word: require("node:path").basename("/x/cjs") };',
      "data.json": '{ "word": "json" }',
    });
    expect(await queues()).to.deep.equal(["function-function-cjs-json"]);
  });

  describe("prevents the start", () => {
    it("if the directory does not exist or is a file", async () => {
      const nowhere = path.join(dir, "nowhere");
      await expectStartError(loadHandlers(nowhere), `the handlers' directory ${nowhere} does not exist`);
      await write({ "file.js": "" });
      const file = path.join(dir, "file.js");
      await expectStartError(loadHandlers(file), `the handlers' directory ${file} is not a directory`);
      await symlink("gone.js", path.join(dir, "link.js"));
      await expectStartError(loadHandlers(dir), `the handler file ${path.join(dir, "link.js")} does not exist`);
    });

    it("if no file has a handler", async () => {
      await expectStartError(loadHandlers(dir), `${dir} has no handlers`);
      await write({ "a.js": "export const a = { queue: 'a', run() {} };" });
      await expectStartError(loadHandlers(dir), `${dir} has no handlers`);
    });

    it("if two handlers have the same queue, and names both", async () => {
      await write({ "a.js": handler("same"), "b.ts": handler("same", "other") });
      const message = await expectStartError(loadHandlers(dir), 'two handlers for the queue "same"');
      expect(message).to.contain(`${path.join(dir, "a.js")} (export handler)`);
      expect(message).to.contain(`${path.join(dir, "b.ts")} (export other)`);
    });

    const broken: Record<string, [file: string, text: string, reason: string | RegExp]> = {
      "throws an error": ["a.ts", 'const x: number = 1;\nthrow new Error("boom\\nand more");', /: Error: boom$/],
      "throws anything": ["a.js", 'throw "a word";', /: a word$/],
      "throws nothing to speak of": ["a.js", "throw new Error();", /: Error: no reason given$/],
      "has a wrong option": [
        "a.js",
        'import { defineHandler } from "paihao";\ndefineHandler({ queue: "Not a name", run() {} });',
        /: TypeError: handler of queue "Not a name": queue is "Not a name", expected /,
      ],
      "has a syntax error in TypeScript": ["a.ts", "const x: number = ;", /a\.ts:1:18: ERROR: Unexpected ";"$/],
      "has a syntax error in JavaScript": ["a.mjs", "const x = ;", /: SyntaxError: /],
      "imports a package that is missing": [
        "a.ts",
        'import "no-such-package";',
        /'no-such-package' imported from .*a\.ts$/,
      ],
      "imports a file that is missing": ["a.js", 'import "./missing.js";', /missing\.js/],
      "imports a name that is missing": ["a.mjs", 'import { nope } from "paihao";', /: SyntaxError: .*'nope'/],
    };
    for (const [what, [file, text, reason]] of Object.entries(broken)) {
      it(`if a file ${what}, in one line with its path, and keeps the cause`, async () => {
        await write({ [file]: text });
        const message = await expectStartError(loadHandlers(dir), reason);
        expect(message.startsWith(`${path.join(dir, file)} cannot be loaded: `), message).to.equal(true);
        expect(message).to.not.contain("\n");
        const error = await loadHandlers(dir).catch((thrown: unknown) => thrown);
        expect((error as StartError).cause).to.not.equal(undefined);
      });
    }
  });

  describe("in a process of its own", () => {
    /** Loads a directory twice over and tells the queues, the error, and whose `defineHandler` the files got. */
    const SCRIPT = `
      const [, , base, extension, ...dirs] = process.argv;
      const { loadHandlers } = await import(new URL("handler/load" + extension, base));
      const { defineHandler } = await import(new URL("index" + extension, base));
      const told = [];
      for (const dir of dirs) {
        try { told.push([...(await loadHandlers(dir)).keys()]); } catch (error) { told.push(error.name + ": " + error.message); }
      }
      console.log(JSON.stringify({ told, same: globalThis.seen === defineHandler }));`;

    const load = async (flags: string[], base: string, extension: string, ...dirs: string[]) => {
      const script = path.join(dir, "..load.mjs");
      await writeFile(script, SCRIPT);
      const args = [...flags, script, pathToFileURL(`${base}/`).href, extension, ...dirs];
      const { stdout, stderr } = await run(process.execPath, args, { cwd: dir, env: { PATH: process.env.PATH } });
      expect(stderr).to.equal("");
      return JSON.parse(stdout) as { told: unknown[]; same: boolean };
    };
    const underTsx = ["--import", pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href];
    const seen = "globalThis.seen = defineHandler;\n";

    it("gives the files this package and its dependencies, even if another copy lies beside them", async () => {
      await write({
        "a.js": `${handler("a")}${seen}`,
        "b.ts": `import { z } from "zod";\n${handler("b").replace("run:", "input: z.object({}), run:")}${seen}`,
        "node_modules/paihao/package.json": '{ "name": "paihao", "type": "module", "exports": "./index.js" }',
        "node_modules/paihao/index.js": 'throw new Error("the wrong copy");',
      });
      const told = await load(underTsx, path.join(root, "src"), ".ts", dir);
      expect(told).to.deep.equal({ told: [["a", "b"]], same: true });
    });

    it("prefers packages that are installed beside the files", async () => {
      await write({
        "a.js":
          'import { z } from "zod";\nimport { defineHandler } from "paihao";\nexport const a = defineHandler({ queue: z, run() {} });',
        "node_modules/zod/package.json": '{ "name": "zod", "type": "module", "exports": "./index.js" }',
        "node_modules/zod/index.js": 'export const z = "their-own";',
      });
      const { told } = await load(underTsx, path.join(root, "src"), ".ts", dir);
      expect(told).to.deep.equal([["their-own"]]);
    });

    describe("compiled, under plain node", () => {
      let installed: string;
      before(async function () {
        this.timeout(60_000);
        installed = await mkdtemp(path.join(tmpdir(), "paihao-installed-"));
        await copyFile(path.join(root, "package.json"), path.join(installed, "package.json"));
        await symlink(path.join(root, "node_modules"), path.join(installed, "node_modules"));
        const tsc = path.join(root, "node_modules/typescript/bin/tsc");
        const args = [tsc, "-p", "src/tsconfig.json", "--noCheck", "--outDir", path.join(installed, "dist")];
        await run(process.execPath, args, { cwd: root });
      });
      after(() => rm(installed, { recursive: true, force: true }));

      const compiled = (...dirs: string[]) => load([], path.join(installed, "dist"), ".js", ...dirs);

      it("loads the handlers that are shipped", async () => {
        const { told } = await compiled(path.join(installed, "dist/handlers"));
        expect(told).to.deep.equal([["default"]]);
      });

      it("loads JavaScript, then TypeScript, with or without a package.json", async () => {
        await write({
          "js/a.js": `${handler("a")}${seen}`,
          "js/b.mjs": handler("b"),
          "ts/c.ts": `import { word } from "./lib/word.ts";\n${typed("c")}${seen}void word;`,
          "ts/lib/word.ts": "export const word: string = 'w';",
          "ts/d.mts": `import { z } from "zod";\n${typed("d")}`,
          "package/package.json": '{ "type": "module" }',
          "package/e.ts": typed("e"),
          "package/f.js": handler("f"),
        });
        const told = await compiled(...["js", "ts", "package"].map((name) => path.join(dir, name)));
        expect(told).to.deep.equal({
          told: [
            ["a", "b"],
            ["c", "d"],
            ["e", "f"],
          ],
          same: true,
        });
      });

      it("reads TypeScript without tsx as Node does, from 22.18 on, and says what is missing before that", async () => {
        const bare = path.join(dir, "bare");
        await mkdir(path.join(bare, "node_modules"), { recursive: true });
        for (const name of await readdir(path.join(root, "node_modules"))) {
          if (name !== "tsx")
            await symlink(path.join(root, "node_modules", name), path.join(bare, "node_modules", name));
        }
        await copyFile(path.join(root, "package.json"), path.join(bare, "package.json"));
        await cp(path.join(installed, "dist"), path.join(bare, "dist"), { recursive: true });
        const stripped = typed("c").replace("enum E {", "const E = {").replace("Queue =", "Queue:");
        await write({
          "ts/c.ts": `import { word } from "./lib/word.ts";\n${stripped}${seen}void word;`,
          "ts/lib/word.ts": "export const word: string = 'w';",
          "package/package.json": '{ "type": "commonjs" }',
          "package/d.ts": stripped.replace('"c"', '"d"'),
        });
        const dirs = ["ts", "package"].map((name) => path.join(dir, name));
        const { told } = await load([], path.join(bare, "dist"), ".js", ...dirs);
        const reads = process.features as { readonly typescript?: unknown };
        if (reads.typescript) expect(told).to.deep.equal([["c"], ["d"]]);
        else {
          const missing = `is TypeScript, which Node ${process.version} cannot read: `;
          expect(told[0]).to.contain(path.join(dir, "ts/c.ts")).and.contain(missing).and.contain("npm install tsx");
        }
      });

      it("reports what is wrong with a TypeScript file", async () => {
        await write({ "ts/a.ts": "const x: number = ;" });
        const { told } = await compiled(path.join(dir, "ts"));
        expect(told[0]).to.match(/^StartError: .*a\.ts cannot be loaded: .*a\.ts:1:18: ERROR: Unexpected ";"$/);
      });
    });
  });
});
