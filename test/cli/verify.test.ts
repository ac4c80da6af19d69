import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { claimOf } from "../../src/engine/upkeep/deployment.ts";
import { builtCommand } from "../helpers/build.ts";
import { openEngine, type TestEngine } from "../helpers/engine.ts";
import { storeUrl } from "../helpers/store/run-store.ts";

describe("paihao verify", () => {
  let t: TestEngine;
  let dir: string;
  beforeEach(async () => {
    t = await openEngine();
    await t.scripts.claim(t.keys.tag(0), claimOf(t.keys));
    dir = mkdtempSync(path.join(tmpdir(), "paihao-verify-"));
  });
  afterEach(async () => {
    rmSync(dir, { recursive: true });
    await t.close();
  });

  const run = (args: readonly string[], env: Record<string, string> = {}) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [...builtCommand(), "verify", ...args], {
      cwd: dir,
      env: { PATH: process.env.PATH ?? "", REDIS_URL: storeUrl(), KEY_PREFIX: t.keys.prefix, ...env },
      encoding: "utf8",
      timeout: 60_000,
    });
    return { status, stdout, stderr };
  };

  it("reports that everything agrees, with counts and status 0", async () => {
    for (const id of ["a", "b", "c"]) await t.submit({ id });
    await t.reserve(1);
    expect(run([])).to.deep.include({
      status: 0,
      stdout: "3 tasks and 3 index entries: everything agrees\n",
    });
  });

  it("lists disagreements with status 1 and changes nothing; --heal repairs them", async () => {
    for (const id of ["lost", "kept"]) await t.submit({ id });
    await t.redis.zrem(t.key("waiting"), "lost");
    // Of a queue that no process has a handler for.
    await t.redis.zadd(t.key("waiting", "gone"), 1, "ghost");

    const { status, stdout, stderr } = run([]);
    expect(status).to.equal(1);
    expect(stdout).to.match(/^2 tasks and 2 index entries: 2 disagree; run again with --heal/);
    expect(stdout).to.include("  lost\n").and.include("  ghost\n");
    expect(stderr).to.include("store: external");
    expect(await t.redis.zscore(t.key("waiting"), "lost")).to.equal(null);

    const healed = run(["--heal", "--json"]);
    expect(healed.status).to.equal(0);
    expect(JSON.parse(healed.stdout)).to.include({ tasks: 2, healed: true }).and.have.deep.property("disagreeing");
    expect(JSON.parse(healed.stdout).disagreeing).to.have.members(["lost", "ghost"]);
    expect(await t.redis.exists(t.key("waiting", "gone"))).to.equal(0);
    expect((await t.reserve(2)).map((task) => task.id)).to.deep.equal(["kept", "lost"]);
    expect(run([]).status).to.equal(0);
  });

  it("finds the tasks of all partitions that the store was created with", async () => {
    const wide = await openEngine({ partitions: 3 });
    try {
      await wide.scripts.claim(wide.keys.tag(0), claimOf(wide.keys));
      for (let n = 0; n < 10; n += 1) await wide.submit();
      const { status, stdout } = run([], { KEY_PREFIX: wide.keys.prefix });
      expect({ status, stdout })
        .to.include({ status: 0 })
        .and.have.property("stdout")
        .that.match(/^10 tasks and 10 index entries/);
    } finally {
      await wide.close();
    }
  });

  it("reports an empty store with status 1", () => {
    const { status, stderr } = run([], { KEY_PREFIX: "nobody" });
    expect(status).to.equal(1);
    expect(stderr).to.match(/^paihao: the store holds nothing of a server with KEY_PREFIX nobody/m);
  });
});
