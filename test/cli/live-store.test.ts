import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import type { Finding } from "../../src/cli/doctor/finding.ts";
import { createLog } from "../../src/log.ts";
import { findServerBinary } from "../../src/store/servers/native/server-binary.ts";
import { type CliProcess, runCli, startCli } from "../helpers/cli.ts";

describe("the native store of a server that runs", function () {
  this.timeout(120_000);
  let dir: string;
  let server: CliProcess;
  const env = { STORE: "native", PORT: "0", LOG_LEVEL: "warn" };
  before(async function () {
    if (!(await findServerBinary(createLog("silent"))).binary) this.skip();
    dir = mkdtempSync(path.join(tmpdir(), "paihao-live-"));
    server = startCli(["start"], { cwd: dir, env });
    await server.until(/is ready on/);
  });
  after(async () => {
    server?.child.kill("SIGTERM");
    await server?.ended;
    if (dir !== undefined) rmSync(dir, { recursive: true });
  });
  const run = (...args: string[]) => runCli(args, { cwd: dir, env });

  it("is checked in its directory", async () => {
    const verified = await run("verify");
    expect(verified.code, verified.stderr).to.equal(0);
    expect(verified.stdout).to.match(/^\d+ tasks and \d+ index entries: everything agrees\n$/);
    expect(verified.stderr).to.contain(`of the server with process id ${server.child.pid}`);
  });

  it("is examined by doctor", async () => {
    const { code, stdout } = await run("doctor", "--json");
    const { findings } = JSON.parse(stdout) as { findings: Finding[] };
    expect(code, stdout).to.equal(0);
    for (const check of ["version", "persistence", "memory", "writes", "index", "queues"]) {
      expect(findings.find((finding) => finding.check === check)?.level, check).to.equal("ok");
    }
  });

  it("is no longer named once the server has stopped", async () => {
    server.child.kill("SIGTERM");
    expect((await server.ended).code).to.equal(0);
    expect(existsSync(path.join(dir, ".paihao/store.socket"))).to.equal(false);
    expect((await run("verify")).code, "with a store of its own").to.equal(0);
  });
});
