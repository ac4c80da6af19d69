import { expect } from "chai";
import { runCli, runLine, startCli } from "../helpers/cli.ts";
import { closedGate } from "../helpers/gates.ts";
import { testKeys } from "../helpers/http/api-keys.ts";
import { startServer, type TestServer } from "../helpers/http/server.ts";
import { reservePort } from "../shared/ports.ts";

describe("paihao, asked for one thing", function () {
  this.timeout(120_000);
  let server: TestServer;
  beforeEach(async () => {
    server = await startServer();
  });
  afterEach(() => server.stop());
  const paihao = (line: string) => runCli(line.split(" "), { env: { PAIHAO_URL: server.url } });

  it("lists scheduled tasks, and prints with get --json the status of a task without a result", async () => {
    const id = await server.enqueue("gated", closedGate().input, "?delay=3600");
    expect((await paihao("ls gated --state scheduled")).stdout).to.match(
      new RegExp(`^${id}\tscheduled\t(?:1 h|60 min|59 min)\t`),
    );
    const pending = await paihao(`get ${id} --json`);
    expect(pending.code).to.equal(6);
    expect(JSON.parse(pending.stdout)).to.include({ id, state: "scheduled", finishedAt: null });
    expect(pending.stderr).to.include("without a result yet");
  });

  it("says in get which steps of a task were undone", async () => {
    const HANDLERS = new URL("../fixtures/handlers/undo", import.meta.url).pathname;
    const other = await startServer({ HANDLERS });
    try {
      const id = await other.enqueue("booking", { undoable: true });
      await other.until(`${id}:undo:booking`, "succeeded");
      const { code, stderr } = await runCli(["get", id, "--url", other.url]);
      expect(code).to.equal(1);
      expect(stderr).to.match(/\(last error: .*; undone [\d.]+ m?s ago: book:42\)\n$/);
    } finally {
      await other.stop();
    }
  });

  it("stops reading the output at --timeout, with 124", async () => {
    const gate = closedGate();
    const id = await server.enqueue("gated", gate.input);
    await (await gate.entered).write("one");
    const { code, stdout, stderr } = await paihao(`output ${id} --timeout 2s`);
    expect(code).to.equal(124);
    expect(stdout).to.equal("one");
    expect(stderr).to.include("the task goes on; to read it again");
  });

  it("prints the attempts of a task with their errors", async () => {
    const id = await server.enqueue("failing", 1);
    await server.until(id, "failed");
    const { code, stdout, stderr } = await paihao(`history ${id}`);
    expect(code).to.equal(0);
    expect(stdout).to.match(/^1\tfailed\t[\d.]+ s ago\t[\d.]+ m?s\t\S+\t\S.*\n$/);
    expect(stderr).to.match(/^stack of attempt 1:\n {2}Error: .*\n {6}at .*handlers.*:\d+:\d+/);
    expect(JSON.parse((await paihao(`history ${id} --json`)).stdout).attempts).to.have.lengthOf(1);
    expect((await paihao("history nobody")).code).to.equal(3);
  });

  it("says which queues there are, and which was probably meant", async () => {
    const near = await paihao("ls gatd");
    expect(near).to.include({ code: 3, stdout: "" });
    expect(near.stderr).to.match(/^paihao: No queue has this name: There are [a-z-]+, .*; did you mean "gated"\?\n$/);
  });

  it("distinguishes a wrong key from a missing one, and says so once", async () => {
    const keys = testKeys({ admin: ["admin"] });
    const guarded = await startServer({ ...keys.env });
    try {
      const cancel = (key: string) =>
        runCli(["cancel", "one", "two"], { env: { PAIHAO_URL: guarded.url, PAIHAO_KEY: key } });
      const missing = await cancel("");
      expect(missing).to.include({
        code: 5,
        stderr: "paihao: A valid API key is required (pass one with --key or PAIHAO_KEY)\n",
      });
      const wrong = await cancel("wrong");
      expect(wrong.code).to.equal(5);
      expect(wrong.stderr).to.match(/^paihao: The server does not know this API key: .*\n$/);
    } finally {
      await guarded.stop();
    }
  });

  it("reports that standard output is full, and ends silently if nobody reads stderr", async function () {
    if (process.platform !== "linux") this.skip();
    const line = "paihao queues > /dev/full";
    const full = await runLine(line, { cwd: "/", env: { PAIHAO_URL: server.url } });
    expect(full.code).to.equal(1);
    expect(full.printed).to.match(/^paihao: standard output cannot be written: ENOSPC.*\n$/);
    const gate = closedGate();
    const id = await server.enqueue("gated", gate.input);
    const task = await gate.entered;
    const watched = startCli(["watch", id], { env: { PAIHAO_URL: server.url } });
    await watched.until(/running/);
    watched.child.stderr?.destroy();
    await task.progress(50, "half of it");
    expect((await watched.ended).code, "as with 2>&1 | head -1").to.equal(0);
  });

  it("says that the watched server is away and back, and why a task may be unknown after that", async () => {
    const port = String(await reservePort());
    const first = await startServer({ PORT: port });
    const id = await first.enqueue("gated", closedGate().input, "?delay=3600");
    const watched = startCli(["watch", id, "--url", first.url]);
    await watched.until(/scheduled/);
    await first.stop();
    await watched.until(/the server is away; trying again/);
    // Nothing is known of the task there.
    const second = await startServer({ PORT: port });
    try {
      const { code, stderr } = await watched.ended;
      expect(code).to.equal(3);
      expect(stderr).to.match(
        /the server is back\n.*No task or group has this id .*embedded store ends with its server\)\n$/s,
      );
    } finally {
      await second.stop();
    }
  });
});
