import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { builtSettings } from "../helpers/build.ts";
import { ROOT } from "../shared/root.ts";
import { guideFolder, writeGuide } from "./guide.ts";

describe("the code in the guides", function () {
  this.timeout(60_000);
  let folder = "";

  const run = (...args: string[]) =>
    execFileSync(process.execPath, ["--import", "tsx", ...args], {
      cwd: ROOT,
      env: { ...process.env, TSX_TSCONFIG_PATH: builtSettings() },
      encoding: "utf8",
      stdio: "pipe",
    });

  beforeEach(() => {
    folder = guideFolder();
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it("of docs/testing.md passes as tests, and does what its comments say", () => {
    const files = writeGuide("testing.md", folder);
    expect(files).to.deep.equal(["order.ts", "order.test.ts", "server.test.ts", "main.ts"]);
    const tests = files.filter((name) => name.endsWith(".test.ts")).map((name) => path.join(folder, name));
    expect(run("--test", ...tests))
      .to.match(/^# pass 4$/m)
      .and.match(/^# fail 0$/m);
    const said = run(path.join(folder, "main.ts"));
    expect(said).to.match(/^http:\/\/127\.0\.0\.1:\d+\nstore: embedded Valkey .*\n\{ text: 'Hello, Ada!' \}\n$/);
  });
});
