import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { type CliOptions, runCli } from "../helpers/cli.ts";
import { closedGate } from "../helpers/gates.ts";
import { startServer, type TestServer } from "../helpers/http/server.ts";

describe("paihao group", function () {
  this.timeout(120_000);
  let server: TestServer;
  let folder: string;
  before(async () => {
    server = await startServer();
    folder = mkdtempSync(path.join(tmpdir(), "paihao-group-"));
  });
  after(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });
  const paihao = (args: readonly string[], options: CliOptions = {}) =>
    runCli(args, { ...options, env: { PAIHAO_URL: server.url } });
  const file = (name: string, text: string) => {
    writeFileSync(path.join(folder, name), text);
    return `@${path.join(folder, name)}`;
  };

  it("submits each line of a file, and waits for the last", async () => {
    const inputs = file("three.ndjson", '{"n":1}\n"grüße 🎫"\n3\n');
    const watched = await paihao(["submit", "default", inputs, "--group", "three", "--watch"]);
    expect(watched).to.include({ code: 0, stdout: "" });
    expect(watched.stderr)
      .to.contain("submitted as three")
      .and.match(/three: done, 3 of 3 tasks ended\n$/);
    const { stdout } = await paihao(["group", "three", "--results"]);
    const results = stdout.trim().split("\n");
    expect(results.map((line) => JSON.parse(line).data.input)).to.deep.equal([{ n: 1 }, "grüße 🎫", 3]);
    const shown = await paihao(["group", "three"]);
    expect(shown.stdout)
      .to.match(/^id\s+three\n/)
      .and.match(/state\s+done, 3 of 3 tasks ended/);
    expect(JSON.parse((await paihao(["group", "three", "--json"])).stdout)).to.include({ id: "three", total: 3 });
  });

  it("prints only the id of a group that was not named", async () => {
    const { stdout, code } = await paihao(["submit", "default", file("one.ndjson", "1\n"), "--group"]);
    expect(code).to.equal(0);
    expect((await server.send(`/v1/groups/${stdout.trim()}`)).json.total).to.equal(1);
  });

  it("says which lines are refused, and runs the others", async () => {
    const outcome = await paihao(["submit", "default", file("bad.ndjson", '1\n{"n":\n3\n'), "--group", "bad"]);
    expect(outcome.code).to.equal(6);
    expect(outcome.stdout).to.equal("bad\n");
    expect(outcome.stderr)
      .to.match(/^line 2: /)
      .and.contain("1 line refused; the others are in bad");
    expect((await server.send("/v1/groups/bad")).json.total).to.equal(2);
  });

  it("ends with 1 if a task has failed, with 3 if the group was canceled or is unknown", async () => {
    const gate = closedGate();
    gate.break(new Error("no"));
    const inputs = file("fails.ndjson", `${JSON.stringify(gate.input)}\n`);
    const failed = await paihao(["submit", "gated", inputs, "--group", "fails", "--watch"]);
    expect(failed.code).to.equal(1);
    expect(failed.stderr).to.contain("1 failed; to see why: paihao group fails --results");
    const held = closedGate();
    await paihao(["submit", "gated", file("held.ndjson", `${JSON.stringify(held.input)}\n`), "--group", "held"]);
    await held.entered;
    await server.send("/v1/groups/held", { method: "DELETE" });
    expect((await paihao(["group", "held", "--watch"])).code).to.equal(3);
    expect((await paihao(["group", "nobody"])).code).to.equal(3);
    expect((await paihao(["group", "no id"])).code).to.equal(2);
  });

  it("stops after a time, and says how to go on", async () => {
    const gate = closedGate();
    await paihao(["submit", "gated", file("long.ndjson", `${JSON.stringify(gate.input)}\n`), "--group", "long"]);
    const outcome = await paihao(["group", "long", "--watch", "--timeout", "1s"]);
    expect(outcome.code).to.equal(124);
    expect(outcome.stderr).to.contain("the tasks go on; to watch them: paihao group long --watch");
    gate.open();
  });
});
