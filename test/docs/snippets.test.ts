import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { ROOT } from "../../testbed/root.ts";

/** The blocks of TypeScript in a guide, by the path in their first line; a block without one is `main.ts`. */
function filesOf(guide: string): Map<string, string> {
  const text = readFileSync(path.join(ROOT, "docs", guide), "utf8");
  const blocks = [...text.matchAll(/^```ts\n(?:\/\/ (\S+\.ts)\n)?(.*?)^```/gms)];
  return new Map(blocks.map(([, name = "main.ts", code = ""]) => [name, code]));
}

describe("the code in the guides", function () {
  this.timeout(60_000);
  let folder = "";

  /** Writes the code of a guide where it finds the package, and checks its types. */
  function write(guide: string): string[] {
    const files = filesOf(guide);
    for (const [name, code] of files) {
      const file = path.join(folder, name);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, code);
    }
    const options = {
      extends: path.join(ROOT, "tsconfig.json"),
      compilerOptions: { types: ["node"] },
      include: ["**/*.ts"],
    };
    writeFileSync(path.join(folder, "tsconfig.json"), JSON.stringify(options));
    execFileSync(process.execPath, [path.join(ROOT, "node_modules/typescript/bin/tsc"), "--noEmit", "-p", folder], {
      stdio: "pipe",
    });
    return [...files.keys()];
  }
  const run = (...args: string[]) =>
    execFileSync(process.execPath, ["--import", "tsx", ...args], { cwd: ROOT, encoding: "utf8", stdio: "pipe" });

  beforeEach(() => {
    mkdirSync(path.join(ROOT, ".cache"), { recursive: true });
    folder = mkdtempSync(path.join(ROOT, ".cache/guide-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it("of docs/library.md does what its comments say", () => {
    expect(write("library.md")).to.deep.equal(["main.ts"]);
    const said = run(path.join(folder, "main.ts"));
    expect(said).to.match(/^http:\/\/127\.0\.0\.1:\d+\nstore: embedded Valkey .*\n\{ text: 'Hello, Ada!' \}\n$/);
  });

  it("of docs/testing.md passes as tests", () => {
    const files = write("testing.md");
    expect(files).to.deep.equal(["order.ts", "order.test.ts", "server.test.ts"]);
    const tests = files.filter((name) => name.endsWith(".test.ts")).map((name) => path.join(folder, name));
    expect(run("--test", ...tests))
      .to.match(/^# pass 4$/m)
      .and.match(/^# fail 0$/m);
  });
});
