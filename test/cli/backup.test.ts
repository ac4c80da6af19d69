import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { runCli, runLine } from "../helpers/cli.ts";
import { openEngine, type TestEngine } from "../helpers/engine.ts";
import { storeUrl } from "../helpers/store/run-store.ts";
import { removeKeys } from "../helpers/store/scan.ts";

describe("paihao backup and restore", function () {
  this.timeout(120_000);
  let t: TestEngine;
  let dir: string;
  let file: string;
  beforeEach(async () => {
    t = await openEngine();
    await t.scripts.claim(t.keys.tag(0), 1);
    for (const id of ["a", "b"]) await t.submit({ id });
    dir = mkdtempSync(path.join(tmpdir(), "paihao-backup-"));
    file = path.join(dir, "a.backup");
  });
  afterEach(async () => {
    rmSync(dir, { recursive: true });
    await removeKeys(storeUrl(), `${t.keys.prefix}-copy`);
    await t.close();
  });

  const run = (args: readonly string[], env: Record<string, string> = {}) =>
    runCli(args, { cwd: dir, env: { REDIS_URL: storeUrl(), KEY_PREFIX: t.keys.prefix, ...env } });
  const copy = () => ({ KEY_PREFIX: `${t.keys.prefix}-copy` });

  it("say how much they wrote, and what the check of the index found", async () => {
    const made = await run(["backup", file]);
    expect(made).to.include({ code: 0 });
    expect(made.stdout).to.match(/a\.backup: 2 tasks, \d+ keys\n$/);
    expect(statSync(file).mode & 0o777).to.equal(0o600);
    const back = await run(["restore", file], copy());
    expect(back).to.include({ code: 0 });
    expect(back.stdout).to.match(
      /: 2 tasks, \d+ keys; 0 of them have expired since\n2 tasks and 2 index entries: everything agrees\n$/,
    );
    const json = await run(["restore", file, "--replace", "--json"], copy());
    expect(JSON.parse(json.stdout)).to.deep.include({ tasks: 2, check: { tasks: 2, entries: 2, healed: [] } });
  });

  it("write to standard output and read standard input", async () => {
    const { prefix } = t.keys;
    const line = `KEY_PREFIX=${prefix} paihao backup - | KEY_PREFIX=${prefix}-copy paihao restore -`;
    const { code, printed } = await runLine(line, { cwd: dir, env: { REDIS_URL: storeUrl() } });
    expect(code, printed).to.equal(0);
    expect(printed).to.include("2 tasks and 2 index entries: everything agrees");
  });

  it("refuse with status 1 and a reason what they cannot do", async () => {
    await run(["backup", file]);
    const there = await run(["restore", file]);
    expect(there).to.include({ code: 1 });
    expect(there.stderr).to.match(/^paihao: the store has data with KEY_PREFIX/m);
    writeFileSync(file, readFileSync(file).subarray(0, -20));
    expect((await run(["restore", file], copy())).stderr).to.match(/^paihao: .* is cut off; nothing was changed$/m);
    expect(await run(["backup", file], { KEY_PREFIX: "nobody" })).to.include({ code: 1 });
    const embedded = await run(["restore", file], { REDIS_URL: "", STORE: "embedded" });
    expect(embedded.stderr).to.include("keeps its data in memory only");
  });
});
