import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { failureOf } from "../../src/cli/exit.ts";
import { createProgram } from "../../src/cli/program.ts";
import { type CliOptions, type CliOutcome, runCli, startCli } from "../helpers/cli.ts";
import { closedGate } from "../helpers/gates.ts";
import { startServer, type TestServer } from "../helpers/http/server.ts";
import { eventually } from "../shared/eventually.ts";
import { reservePort } from "../shared/ports.ts";

/** Where nobody listens: what is sent there would be another failure. */
const NOWHERE = ["--url", "http://127.0.0.1:1"];

/** What would come of a command that is wrong, found out in this process; its message also if the library printed it. */
async function failure(args: readonly string[]): Promise<{ exitCode: number; message: string }> {
  const program = createProgram();
  const all = [program, ...program.commands, ...program.commands.flatMap(({ commands }) => commands)];
  let printed = "";
  const writeErr = (text: string) => {
    printed += text;
  };
  for (const command of all) command.configureOutput({ writeErr });
  try {
    await program.parseAsync([...args], { from: "user" });
    throw new Error("it is not refused");
  } catch (error) {
    const { exitCode, message = printed } = failureOf(error);
    return { exitCode, message };
  }
}

describe("paihao in a script", function () {
  this.timeout(120_000);
  let server: TestServer;
  beforeEach(async () => {
    server = await startServer();
  });
  afterEach(() => server.stop());
  const optionsOf = ({ env, ...options }: CliOptions = {}): CliOptions => ({
    ...options,
    env: { PAIHAO_URL: server.url, ...env },
  });
  const paihao = (line: string | readonly string[], options?: CliOptions): Promise<CliOutcome> =>
    runCli(typeof line === "string" ? line.split(" ") : line, optionsOf(options));

  describe("submit", () => {
    it("prints only the id on stdout; the same id with the same input is the same task", async () => {
      const first = await paihao(["submit", "default", '{"a":1}', "--id", "one"]);
      expect(first).to.include({ code: 0, stdout: "one\n" });
      expect(first.stderr).to.match(/^place 1 in line/);
      await server.until("one", "succeeded");
      const again = await paihao(["submit", "default", '{"a":1}', "--id", "one"]);
      expect(again).to.include({ code: 0, stdout: "one\n", stderr: "one was submitted before; nothing runs twice\n" });
      const other = await paihao(["submit", "default", '{"a":2}', "--id", "one"]);
      expect(other).to.include({ code: 6, stdout: "" });
      const { stdout } = await paihao(["submit", "default", "7", "--json"]);
      expect(JSON.parse(stdout)).to.include({ queue: "default", replayed: false }).and.have.property("id");
    });

    it("takes its input from the argument, a file or stdin, byte for byte", async () => {
      const dir = mkdtempSync(path.join(tmpdir(), "paihao-submit-"));
      try {
        writeFileSync(path.join(dir, "input.json"), '\n{"n": 12.5, "ü": "🎫"}\n');
        writeFileSync(path.join(dir, "photo.png"), Buffer.from([0x89, 0, 255]));
        const from = async (args: readonly string[], input = "") => {
          const { code, stdout } = await paihao(["submit", "default", ...args, "--wait"], { cwd: dir, input });
          expect(code).to.equal(0);
          return JSON.parse(stdout).input;
        };
        expect(await from(["@input.json"])).to.deep.equal({ n: 12.5, ü: "🎫" });
        expect(await from(["-"], '["from stdin"]')).to.deep.equal(["from stdin"]);
        expect(await from([])).to.equal(null);
        expect(await from(['"word"'])).to.equal("word");
        const images = "submit images @photo.png --type image/png --query width=320 --query a=b=c --wait";
        expect(JSON.parse((await paihao(images, { cwd: dir })).stdout)).to.deep.equal({
          length: 3,
          mediaType: "image/png",
          query: { width: "320", a: "b=c" },
        });
        expect(await paihao("submit images @photo.png", { cwd: dir })).to.include({ code: 2 });
        expect(await paihao("submit default @absent.json", { cwd: dir })).to.include({ code: 2, stdout: "" });
      } finally {
        rmSync(dir, { recursive: true });
      }
    });

    it("passes on priority, delay, deadline and presence", async () => {
      const times = ["--delay", "1h", "--deadline", "2h", "--presence", "30m"];
      await paihao(["submit", "gated", "1", "--id", "later", ...times, "--priority", "0"]);
      const { json } = await server.send("/v1/requests/later/status");
      expect(json.state).to.equal("scheduled");
      expect(json.eta.seconds).to.be.within(3500, 3600);
      expect(Date.parse(json.deadlineAt) - Date.parse(json.createdAt)).to.equal(7_200_000);
      // Each look begins it anew.
      const [least, most] = [Date.parse(json.createdAt) + 1_800_000, Date.now() + 1_800_000];
      expect(Date.parse(json.presentUntil)).to.be.within(least, most);
    });

    it("prints one line per change on stderr with --watch, and only the result on stdout", async () => {
      const [ahead, mine] = [closedGate(), closedGate()];
      await server.enqueue("gated", ahead.input);
      const run = startCli(["submit", "gated", JSON.stringify(mine.input), "--watch", "--id", "mine"], optionsOf());
      await run.until(/place 1/);
      ahead.open();
      const task = await mine.entered;
      await task.progress(25, "a quarter");
      await run.until(/25 %/);
      await task.write("written\n");
      await run.until(/written/);
      mine.open({ done: true });
      const { code, stdout, stderr } = await run.ended;
      expect({ code, stdout }).to.deep.equal({ code: 0, stdout: '{"done":true}\n' });
      const lines = stderr.trimEnd().split("\n");
      expect(lines[0]).to.equal("submitted as mine");
      expect(lines[1]).to.match(/^mine: waiting, place 1 in line \(next\), /);
      expect(lines).to.include("mine: running, 25 %, a quarter").and.include("written");
      expect(lines.at(-1)).to.match(/^mine: succeeded in /);
      expect(stderr, "no control sequences").not.to.include("\u001b");
    });

    it("stops waiting with 124 at --timeout, and with 130 when it is interrupted; the task goes on", async () => {
      const gate = closedGate();
      const submit = ["submit", "gated", JSON.stringify(gate.input), "--id", "mine"];
      // Long enough for the submission, however busy the machine is.
      const late = await paihao([...submit, "--wait", "--timeout", "3"]);
      expect(late).to.include({ code: 124, stdout: "" });
      expect(late.stderr).to.include("not done within 3 s; the task goes on; to watch it: paihao watch mine");
      const run = startCli(["watch", "mine"], optionsOf());
      await run.until(/running/);
      run.child.kill("SIGINT");
      expect(await run.ended).to.include({ code: 130, stdout: "" });
      gate.open("kept");
      await server.until("mine", "succeeded");
      expect(await paihao("get mine")).to.include({ code: 0, stdout: '"kept"\n', stderr: "" });
    });
  });

  describe("the exit code", () => {
    it("says what became of the task: 0 succeeded, 1 failed, 3 canceled, expired or unknown", async () => {
      expect((await paihao(["submit", "answers", '{"kind":"null"}', "--wait"])).code).to.equal(0);
      const problem = { status: 422, title: "Not an image", detail: "a text\u001b[31m" };
      const failed = await paihao(["submit", "giving-up", JSON.stringify(problem), "--id", "bad", "--wait"]);
      expect(failed).to.include({ code: 1, stdout: "" });
      expect(failed.stderr).to.equal("submitted as bad\npaihao: Not an image: a text\ufffd[31m\n");
      for (const line of ["get bad", "watch bad", "output bad"]) expect((await paihao(line)).code, line).to.equal(1);
      expect(await paihao("status bad"))
        .to.include({ code: 0 })
        .and.have.property("stdout")
        .that.matches(/^last error +a text/m)
        .and.not.contains("log");
      const json = await paihao("get bad --json");
      expect(JSON.parse(json.stdout)).to.include({ status: 422, title: "Not an image" });

      // The status of a failure is that of the task, not of a server that is away.
      const busy = await paihao(["submit", "giving-up", '{"status":503,"title":"Busy"}', "--id", "busy", "--watch"]);
      expect(busy).to.include({ code: 1, stdout: "" });
      expect(await paihao("get busy")).to.include({ code: 1, stderr: "paihao: Busy\n" });

      const id = await server.enqueue("gated", 1, "?delay=3600");
      await server.send(`/v1/requests/${id}`, { method: "DELETE" });
      for (const line of [`get ${id}`, `watch ${id}`, "get nobody", "status nobody", "watch nobody", "output nobody"]) {
        expect((await paihao(line)).code, line).to.equal(3);
      }
    });

    it("is 2 for wrong usage, before anything is sent", async () => {
      const lines = [
        ...["submit", "submit default {a:1}", "submit default 1 --id ../x", "submit default 1 --priority 8"],
        ...["submit default 1 --delay soon", "submit default 1 --query width", "submit default 1 --wait --watch"],
        ...[
          "submit default 1 --wait --timeout 99d",
          "get",
          "nonsense",
          "queues --nonsense",
          "ls default --state asleep",
        ],
        ...["dead retry failing", "dead delete failing one --all", "queues --url ftp://127.0.0.1"],
        ...["queues --url http://user:pw@127.0.0.1", "queues --url htp://user:pw@127.0.0.1"],
      ].map((line) => line.split(" "));
      const wrong = [...lines, ["submit", "No Queue", "1"], ["get", "a b"], ["queues", "--key", "two words"]];
      for (const args of wrong) {
        const { exitCode, message } = await failure([...args, ...(args.includes("--url") ? [] : NOWHERE)]);
        expect(exitCode, `${args.join(" ")}: ${message}`).to.equal(2);
        expect(message).to.not.equal("").and.to.not.include("user:pw");
      }
      const shown = await paihao("submit default 1 --priority 8");
      expect(shown).to.include({ code: 2, stdout: "" });
      expect(shown.stderr).to.match(/^error: option '--priority <n>' .* from 0 to 7\.\n\(--help shows examples\)\n$/);
      const refused = await paihao(["submit", "checked", '{"width":0}']);
      expect(refused).to.include({ code: 2 }).and.have.property("stderr").that.includes("#/width");
    });

    it("is 4 without a server, and 6 if the server refuses or there is no result yet", async () => {
      const nobody = await paihao("queues", { env: { PAIHAO_URL: `http://127.0.0.1:${await reservePort()}` } });
      expect(nobody).to.include({ code: 4, stdout: "" });
      expect(nobody.stderr).to.match(/cannot be reached.*is it running\? --url or PAIHAO_URL/);
      const id = await server.enqueue("gated", closedGate().input, "?delay=3600");
      const early = await paihao(`get ${id}`);
      expect(early).to.include({ code: 6, stdout: "" });
      expect(early.stderr).to.equal(
        `paihao: ${id} is scheduled, without a result yet; wait for it: paihao watch ${id}\n`,
      );
      expect((await paihao(`dead retry gated ${id}`)).code).to.equal(6);
    });
  });

  describe("get", () => {
    it("prints the bytes of a result as they are; --json makes one JSON value of any", async () => {
      const collect = async (kind: string, ...args: string[]) => {
        await server.post("answers", { kind }, { "X-Request-Id": kind });
        return (await paihao(["get", kind, ...args])).stdout;
      };
      expect(await collect("json")).to.equal('{"grüße":"世界 🎫"}\n');
      expect(await collect("text")).to.equal("plain — text");
      expect(await collect("nothing")).to.equal("");
      expect(JSON.parse(await collect("text", "--json"))).to.equal("plain — text");
      expect(JSON.parse(await collect("nothing", "--json"))).to.equal(null);
      const base64 = Buffer.from([0, 255, 128, 10]).toString("base64");
      expect(JSON.parse(await collect("bytes", "--json"))).to.deep.equal({
        contentType: "application/octet-stream",
        base64,
      });
    });

    it("says where a result redirects to, and does not go there", async () => {
      await server.post("answers", { kind: "elsewhere" }, { "X-Request-Id": "elsewhere" });
      const stderr = "the result is a redirect to http://127.0.0.1:9/file\n";
      expect(await paihao("get elsewhere")).to.include({ code: 0, stdout: "", stderr });
    });
  });

  describe("cancel", () => {
    it("cancels several, says of each what became of it, and keeps the results of those that have ended", async () => {
      const gate = closedGate();
      const running = await server.enqueue("gated", gate.input);
      await gate.entered;
      const waiting = await server.enqueue("gated", closedGate().input);
      await server.post("default", 1, { "X-Request-Id": "ended" });
      const { code, stdout, stderr } = await paihao(["cancel", waiting, "ended", "nobody", running]);
      expect(code, "that of the first which was not canceled").to.equal(6);
      expect(stdout).to.equal(`${waiting}\tcanceled\n${running}\tstopping\n`);
      expect(stderr)
        .to.include("ended has already succeeded; its result is kept")
        .and.include("nobody: No task or group has");
      expect((await server.send("/v1/requests/ended")).status).to.equal(200);
      await server.until(running, "canceled");
      expect(await paihao(["cancel", waiting])).to.include({ code: 0, stdout: `${waiting}\tcanceled\n` });
    });
  });

  describe("again", () => {
    it("submits the input of a task as a new one, or another input, and prints the new id", async () => {
      await server.post("default", { a: 1 }, { "X-Request-Id": "one" });
      expect(await paihao("again one --id two")).to.include({ code: 0, stdout: "two\n" });
      expect((await server.until("two", "succeeded")).json.original).to.equal("one");
      expect((await server.send("/v1/requests/two")).json.input).to.deep.equal({ a: 1 });
      const { stdout } = await paihao(["again", "two", '{"a":2}', "--json", "--delay", "1h"]);
      expect(JSON.parse(stdout)).to.include({ queue: "default", state: "scheduled" });
      expect(await paihao("again nobody")).to.include({ code: 3, stdout: "" });
      expect(await paihao("again one {")).to.include({ code: 2, stdout: "" });
    });
  });

  describe("move", () => {
    it("moves tasks that wait, and says where each stands now", async () => {
      const gate = closedGate();
      const running = await server.enqueue("gated", gate.input);
      await gate.entered;
      const ids = [
        await server.enqueue("gated", closedGate().input),
        await server.enqueue("gated", closedGate().input),
      ];
      const { code, stdout } = await paihao(["move", ids[1] ?? "", "--first"]);
      expect([code, stdout.split("\t")[0]]).to.deep.equal([0, ids[1]]);
      expect(stdout).to.include("place 1 in line");
      expect((await paihao(["move", ...ids, "--delay", "1h"])).stdout.split("\n")).to.have.length(3);
      expect((await server.send(`/v1/requests/${ids[0]}/status`)).json.state).to.equal("scheduled");
      const refused = await paihao(["move", running, ids[0] ?? "", "--priority", "7"]);
      expect(refused.code, "of the first that was refused").to.equal(6);
      expect(refused.stderr).to.include("Only a task that waits can be moved");
      expect(await paihao(["move", running])).to.include({ code: 2 });
      expect(await paihao(["move", running, "--first", "--last"])).to.include({ code: 2 });
      gate.open();
    });
  });

  describe("output", () => {
    it("prints what a handler writes as it is, live; as NDJSON with --json", async () => {
      const gate = closedGate();
      const id = await server.enqueue("gated", gate.input);
      const task = await gate.entered;
      await task.write("Once ");
      const run = startCli(["output", id], optionsOf());
      await run.until(/Once /);
      await task.write("upon\n");
      await task.write({ a: "time" });
      gate.open();
      expect(await run.ended).to.include({ code: 0, stdout: 'Once upon\n{"a":"time"}\n', stderr: "" });
      const { stdout } = await paihao(`output ${id} --json`);
      const values = stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
      expect(values.map(({ seq, data }) => [seq, data])).to.deep.equal([
        [0, "Once "],
        [1, "upon\n"],
        [2, { a: "time" }],
      ]);
    });
  });

  describe("watch --json", () => {
    it("prints a line of JSON for each change, the last with the result or the problem", async () => {
      const gate = closedGate();
      const id = await server.enqueue("gated", gate.input);
      const task = await gate.entered;
      const run = startCli(["watch", id, "--json"], optionsOf());
      await run.until(/"running"/);
      await task.write("hello");
      await run.until(/hello/);
      gate.break(new Error("no"));
      const { code, stdout } = await run.ended;
      const lines = stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
      expect(code).to.equal(1);
      expect(lines[0]).to.include({ id, state: "running" });
      expect(lines.some(({ data }) => data === "hello")).to.equal(true);
      expect(lines.at(-1)).to.include({ state: "failed" }).and.have.nested.property("problem.status", 500);
    });

    it("says how to get a result that is too long for the last line", async () => {
      for (const [length, said] of [
        [10, /^submitted as short\n$/],
        [30_000, /^submitted as long\nthe result is .*; to get it: paihao get long\n$/],
      ] as const) {
        const gate = closedGate();
        const id = length === 10 ? "short" : "long";
        const run = startCli(
          ["submit", "gated", JSON.stringify(gate.input), "--watch", "--json", "--id", id],
          optionsOf(),
        );
        await gate.entered;
        gate.open("x".repeat(length));
        const { code, stdout, stderr } = await run.ended;
        expect(code).to.equal(0);
        expect(JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "")).to.include({ state: "succeeded" });
        expect(stderr).to.match(said);
      }
    });

    it("goes on through a restart of the server", async () => {
      const port = String(await reservePort());
      const first = await startServer({ PORT: port });
      const id = await first.enqueue("gated", closedGate().input, "?delay=3600");
      const run = startCli(["watch", id, "--json", "--url", first.url]);
      await run.until(/scheduled/);
      await first.stop({ keep: true });
      const second = await startServer({ PORT: port, KEY_PREFIX: first.prefix });
      try {
        await second.send(`/v1/requests/${id}`, { method: "DELETE" });
        const { code, stdout } = await run.ended;
        expect(code).to.equal(3);
        expect(JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "")).to.include({ state: "canceled" });
      } finally {
        await second.stop();
      }
    });
  });

  it("says that it does not know whether a task was submitted, if there was no answer", async () => {
    const silent = createServer().listen(0, "127.0.0.1");
    await once(silent, "listening");
    try {
      const { port } = silent.address() as AddressInfo;
      const run = startCli(["submit", "default", "1", "--id", "mine", "--url", `http://127.0.0.1:${port}`]);
      const [socket] = (await once(silent, "connection")) as [Socket];
      run.child.kill("SIGINT");
      const { code, stderr } = await run.ended;
      socket.destroy();
      expect(code).to.equal(130);
      expect(stderr).to.equal(
        "paihao: interrupted; the task may or may not have been submitted; to find out: paihao status mine\n",
      );
    } finally {
      silent.close();
    }
  });

  it("ends silently when the reader of its output has gone", async () => {
    const run = startCli(["top", "--json", "--interval", "100ms"], optionsOf());
    await run.until(/gated/);
    run.child.stdout?.destroy();
    await eventually(() => run.child.exitCode !== null || run.child.signalCode !== null);
    expect((await run.ended).stderr).to.equal("");
  });
});
