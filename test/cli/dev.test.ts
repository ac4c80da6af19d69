import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { type CliProcess, startCli } from "../helpers/cli.ts";
import { storeUrl, uniquePrefix } from "../helpers/store/run-store.ts";
import { reservePort } from "../shared/ports.ts";

describe("paihao dev", function () {
  this.timeout(180_000);
  let dir = "";
  beforeEach(() => {
    dir = mkdtempSync(path.join(tmpdir(), "paihao-dev-"));
    for (const folder of ["handlers", "lib"]) mkdirSync(path.join(dir, folder));
    put("lib/word.ts", 'export const word = "first";\n');
    put(
      "handlers/say.ts",
      `import { defineHandler } from "paihao";
import { word } from "../lib/word.ts";
export const say = defineHandler({ queue: "say", run: (_, task) => (task.log.info("said"), word) });
`,
    );
  });
  afterEach(() => rmSync(dir, { recursive: true }));
  const put = (name: string, text: string) => writeFileSync(path.join(dir, name), text);
  /** Saves as editors, `sed -i` and `git checkout` do. */
  const replace = (name: string, text: string) => {
    put("saved", text);
    renameSync(path.join(dir, "saved"), path.join(dir, name));
  };
  const start = async () => {
    const port = await reservePort();
    const env = { REDIS_URL: storeUrl(), KEY_PREFIX: uniquePrefix(), PORT: String(port), HOME: dir };
    const dev = startCli(["dev", "--handlers", "handlers"], { cwd: dir, env });
    const ask = async (queue = "say") => {
      const headers = { "Content-Type": "application/json" };
      const url = `http://127.0.0.1:${port}/v1/queues/${queue}/requests`;
      return (await fetch(url, { method: "POST", headers, body: "1" })).json();
    };
    return { dev, ask };
  };
  const end = ({ child, ended }: CliProcess, signal: NodeJS.Signals = "SIGTERM") => {
    child.kill(signal);
    return ended;
  };
  /** The pattern of so many ready lines. */
  const ready = (times: number) => new RegExp(`(?:is ready on[\\s\\S]*){${times}}`);

  it("starts again with the code of now when a file changes that a handler imports, and shows logs and errors for people", async () => {
    const { dev, ask } = await start();
    try {
      await dev.until(ready(1));
      expect(await ask()).to.equal("first");
      put("lib/word.ts", 'export const word = "second";\n');
      await dev.until(ready(2));
      expect(await ask()).to.equal("second");
      await dev.until(/^\[[\d:]+\] INFO said /m);
      put("lib/word.ts", 'export const word = { toJSON() { throw new Error("no word") } };\n');
      await dev.until(ready(3));
      expect(await ask())
        .to.have.property("stack")
        .that.matches(/^Error: no word\n +at .*word\.ts/);
    } finally {
      dev.child.kill("SIGTERM");
    }
    const { code, stdout, stderr } = await dev.ended;
    expect(code).to.equal(0);
    expect(stderr + stdout).to.match(/has stopped[\s\S]*has stopped/);
  });

  it("sees files that are replaced, each time, and files and folders that are new", async () => {
    const { dev, ask } = await start();
    try {
      await dev.until(ready(1));
      for (const [n, word] of ["second", "third"].entries()) {
        replace("lib/word.ts", `export const word = "${word}";\n`);
        await dev.until(ready(n + 2));
        expect(await ask()).to.equal(word);
      }
      put(
        "handlers/new.ts",
        'import { defineHandler } from "paihao";\nexport const now = defineHandler({ queue: "new", run: () => "new" });\n',
      );
      await dev.until(ready(4));
      expect(await ask("new")).to.equal("new");
      mkdirSync(path.join(dir, "more/words"), { recursive: true });
      put("more/words/word.ts", 'export const word = "more";\n');
      await dev.until(ready(5));
      put("lib/word.ts", 'export { word } from "../more/words/word.ts";\n');
      await dev.until(ready(6));
      expect(await ask()).to.equal("more");
      replace("more/words/word.ts", 'export const word = "most";\n');
      await dev.until(ready(7));
      expect(await ask()).to.equal("most");
    } finally {
      await end(dev);
    }
  });

  it("does not start again for what handlers write, dependencies and hidden files", async () => {
    const { dev } = await start();
    try {
      await dev.until(ready(1));
      mkdirSync(path.join(dir, "node_modules/one"), { recursive: true });
      put("node_modules/one/index.js", "");
      put("result.json", "{}");
      put("lib/.word.ts.swp", "");
      replace("lib/word.ts", 'export const word = "last";\n');
      await dev.until(ready(2));
    } finally {
      await end(dev);
    }
    const { stderr } = await dev.ended;
    expect(stderr.match(/\S+ has changed/g)).to.deep.equal([`${path.join("lib", "word.ts")} has changed`]);
  });

  it("waits for a change when it cannot start, and starts with the file that was mended", async () => {
    put("lib/word.ts", "export const word = ;\n");
    const { dev, ask } = await start();
    const waits = (times: number) => new RegExp(`(?:cannot be loaded[\\s\\S]*waiting for a change[\\s\\S]*){${times}}`);
    try {
      await dev.until(waits(1));
      replace("lib/word.ts", 'export const word = "mended";\n');
      await dev.until(ready(1));
      expect(await ask()).to.equal("mended");
      replace("lib/word.ts", 'import "./nowhere.ts";\n');
      await dev.until(waits(2));
      put("lib/nowhere.ts", "");
      replace("lib/word.ts", 'export const word = "again";\n');
      await dev.until(ready(2));
      expect(await ask()).to.equal("again");
      replace("lib/word.ts", "export const;");
      await dev.until(waits(3));
    } finally {
      dev.child.kill("SIGINT");
    }
    expect((await dev.ended).code, "that of the last start").to.equal(1);
  });

  it("leaves no server behind when it is killed, also while that starts", async () => {
    for (const until of [/is ready on/, undefined]) {
      const { dev } = await start();
      if (until) await dev.until(until);
      // The server has the pipes too, so they close when both are gone.
      await end(dev, "SIGKILL");
    }
  });
});
