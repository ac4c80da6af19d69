import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { startCli } from "../helpers/cli.ts";
import { storeUrl, uniquePrefix } from "../helpers/store/run-store.ts";
import { reservePort } from "../shared/ports.ts";

describe("paihao dev", function () {
  this.timeout(60_000);
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

  it("starts again with the code of now when a file changes that a handler imports, and shows logs and errors for people", async () => {
    const [port, prefix] = [await reservePort(), uniquePrefix()];
    const env = { REDIS_URL: storeUrl(), KEY_PREFIX: prefix, PORT: String(port), HOME: dir };
    const dev = startCli(["dev", "--handlers", "handlers"], { cwd: dir, env });
    const said = async () => {
      const headers = { "Content-Type": "application/json" };
      const url = `http://127.0.0.1:${port}/v1/queues/say/requests`;
      return (await fetch(url, { method: "POST", headers, body: "1" })).json();
    };
    try {
      await dev.until(/is ready on/);
      expect(await said()).to.equal("first");
      put("lib/word.ts", 'export const word = "second";\n');
      await dev.until(/is ready on[\s\S]*is ready on/);
      expect(await said()).to.equal("second");
      await dev.until(/^\[[\d:]+\] INFO said /m);
      put("lib/word.ts", 'export const word = { toJSON() { throw new Error("no word") } };\n');
      await dev.until(/(?:is ready on[\s\S]*){3}/);
      expect(await said())
        .to.have.property("stack")
        .that.matches(/^Error: no word\n +at .*word\.ts/);
    } finally {
      dev.child.kill("SIGTERM");
    }
    const { stdout, stderr } = await dev.ended;
    expect(stderr + stdout).to.match(/has stopped[\s\S]*has stopped/);
  });
});
