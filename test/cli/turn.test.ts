import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import type { Handler } from "../../src/handler/define.ts";
import { defineTurns } from "../../src/handler/turns.ts";
import { builtCommand } from "../helpers/build.ts";
import { type CliOptions, type CliProcess, runCli, startCli } from "../helpers/cli.ts";
import { startServer, type TestServer } from "../helpers/http/server.ts";
import { endProcesses, type ServerProcess, startProcess } from "../helpers/server-process.ts";
import { uniquePrefix } from "../helpers/store/run-store.ts";
import { hasTerminal, Terminal } from "../helpers/terminal.ts";
import { eventually } from "../shared/eventually.ts";
import { reservePort } from "../shared/ports.ts";

/** A shell that tells what it is sent, and ends with 9 when it gets a line. */
const LISTENING = `
for signal in INT TERM HUP; do trap "echo got $signal" $signal; done
echo "turn $PAIHAO_TURN"
while [ ! -e "$END" ]; do sleep 0.02; done
exit 9`;

describe("paihao turn", function () {
  this.timeout(60_000);
  let server: TestServer;
  let dir: string;
  const open: CliProcess[] = [];
  before(async () => {
    server = await startServer({}, { handlers: new Map([["gpu", defineTurns({ queue: "gpu" }) as Handler]]) });
  });
  beforeEach(() => {
    dir = mkdtempSync(path.join(tmpdir(), "paihao-turn-"));
  });
  afterEach(async () => {
    for (const { child, ended } of open.splice(0)) {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
      await ended.catch(() => undefined);
    }
    const { items } = (await server.send("/v1/queues/gpu/running")).json;
    for (const { id } of items) await giveUp(id);
    rmSync(dir, { recursive: true });
  });
  after(() => server.stop());

  const env = () => ({ PAIHAO_URL: server.url, END: path.join(dir, "end") });
  const turn = (args: readonly string[], options: CliOptions = {}): CliProcess => {
    const started = startCli(["turn", "gpu", ...args], { cwd: dir, ...options, env: { ...env(), ...options.env } });
    open.push(started);
    return started;
  };
  const shell = (script: string) => ["--", "sh", "-c", script];
  const giveUp = (id: string) => server.send(`/v1/requests/${id}`, { method: "DELETE" });
  const taskOf = async (id: string) => (await server.send(`/v1/requests/${id}/status`)).json;
  /** A turn that a test holds. */
  const held = () => server.enqueue("gpu", null, "?presence=1m");
  const waiting = (n: number) => eventually(async () => (await server.send("/v1/queues/gpu")).json.waiting === n);
  /** The id of the only task that waits. */
  const idInLine = async (): Promise<string> => {
    await waiting(1);
    return (await server.send("/v1/queues/gpu/waiting")).json.items[0].id;
  };
  /** The id of the turn of a command that listens. */
  const listening = async (started: CliProcess): Promise<string> => {
    let printed = "";
    started.child.stdout?.on("data", (text: string) => {
      printed += text;
    });
    return eventually(() => /turn (\w+)\n/.exec(printed)?.[1] ?? false) as Promise<string>;
  };
  /** Lets commands that listen end. */
  const end = () => writeFileSync(path.join(dir, "end"), "");

  it("runs a command with its streams and the turn in its environment, and ends with its exit code", async () => {
    const script = 'echo "$PAIHAO_TURN $PAIHAO_FENCE"; cat; echo oops >&2; exit 7';
    const { code, stdout, stderr } = await turn(["--label", "training", ...shell(script)], { input: "in" }).ended;
    expect([code, stdout.replace(/^\w+ \d+/, "ID FENCE")]).to.deep.equal([7, "ID FENCE\nin"]);
    expect(stderr).to.match(/^your turn in gpu: sh runs\noops\n$/);
    const id = stdout.split(" ")[0] ?? "";
    expect(await taskOf(id)).to.include({ state: "succeeded", label: "training" });
    expect((await server.send(`/v1/requests/${id}`)).json).to.deep.equal({ exitCode: 7 });
  });

  it("does not give the command what .env says to this one", async () => {
    writeFileSync(path.join(dir, ".env"), "PAIHAO_KEY=secret\n");
    const { stdout } = await turn(shell('echo "key: $PAIHAO_KEY, mine: $MINE"'), { env: { MINE: "1" } }).ended;
    expect(stdout).to.equal("key: , mine: 1\n");
  });

  it("has the exit codes of a shell for what cannot run, and for what a signal ends", async () => {
    writeFileSync(path.join(dir, "plain"), "");
    for (const [command, expected, said] of [
      [["--", "./no-such-command"], 127, /paihao: \.\/no-such-command is not found\n$/],
      [["--", "./plain"], 126, /paihao: \.\/plain cannot be run: [^\n]+\n$/],
      [shell("kill -9 $$"), 137, /runs\n$/],
    ] as const) {
      const { code, stderr } = await turn(command).ended;
      expect(code).to.equal(expected);
      expect(stderr).to.match(said);
    }
    expect((await server.send("/v1/queues/gpu")).json).to.include({ running: 0, waiting: 0 });
  });

  it("waits for no turn where there is no such command", async () => {
    const holder = await held();
    const { code, stderr } = await turn(["--", "no-such-command"]).ended;
    expect([code, stderr]).to.deep.equal([127, "paihao: no-such-command is not found\n"]);
    await giveUp(holder);
  });

  it("lets one run after the other, in the order in which they came", async () => {
    const file = path.join(dir, "log");
    const script = (n: number) => shell(`echo "${n} enters" >> ${file}; sleep 0.1; echo "${n} leaves" >> ${file}`);
    const holder = await held();
    const turns = [];
    for (const n of [1, 2, 3]) {
      turns.push(turn(script(n)));
      await waiting(n);
    }
    await giveUp(holder);
    for (const { ended } of turns) expect((await ended).code).to.equal(0);
    const lines = [1, 2, 3].flatMap((n) => [`${n} enters`, `${n} leaves`]);
    expect(readFileSync(file, "utf8").trim().split("\n")).to.deep.equal(lines);
  });

  it("tells the first place in line, and then each that is half of the one told before", async () => {
    const holders = [];
    for (let n = 0; n < 5; n++) holders.push(await held());
    const started = turn(shell("exit 0"));
    await started.until(/place 5 in line/);
    for (const id of holders) await giveUp(id);
    const { stderr } = await started.ended;
    const places = [...stderr.matchAll(/waiting, place (\d)/g)].map(([, place]) => Number(place));
    expect(places[0]).to.equal(5);
    // Those before it: 4, and then at most 2, 1, 0, of which it may miss some.
    for (const [n, place] of places.slice(1).entries()) expect(place - 1).to.be.at.most(((places[n] ?? 0) - 1) / 2);
    expect(stderr).to.match(/your turn in gpu: sh runs\n$/);
  });

  for (const [signal, exitCode] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const) {
    it(`leaves the line when it gets ${signal}`, async () => {
      const holder = await held();
      const started = turn(shell("echo ran"));
      const id = await idInLine();
      await started.until(/place 1/);
      started.child.kill(signal);
      const { code, stdout, stderr } = await started.ended;
      expect([code, stdout]).to.deep.equal([exitCode, ""]);
      expect(stderr).to.match(/\npaihao: interrupted; the place in line is given up\n$/);
      expect(await taskOf(id)).to.include({ state: "canceled" });
      await giveUp(holder);
    });

    it(`passes ${signal} on to the command, and ends with it`, async () => {
      const started = turn(shell(LISTENING));
      const id = await listening(started);
      started.child.kill(signal);
      await started.until(new RegExp(`got ${signal.slice(3)}\n`));
      end();
      const { code, stdout } = await started.ended;
      expect(code).to.equal(9);
      expect(stdout.match(/got/g)).to.have.length(1);
      expect(await taskOf(id)).to.include({ state: "succeeded" });
    });
  }

  it("leaves the line after the time that it may wait", async () => {
    const holder = await held();
    const started = turn(["--wait-at-most", "1s", ...shell("echo ran")]);
    const id = await idInLine();
    const { code, stdout, stderr } = await started.ended;
    expect([code, stdout]).to.deep.equal([124, ""]);
    expect(stderr).to.include("paihao: it was not our turn within 1 s; the place in line is given up\n");
    expect(await taskOf(id)).to.include({ state: "canceled" });
    await giveUp(holder);
  });

  it("may run for longer than it may wait", async () => {
    const { code, stdout } = await turn(["--wait-at-most", "500ms", ...shell("sleep 1; echo ran")]).ended;
    expect([code, stdout]).to.deep.equal([0, "ran\n"]);
  });

  it("says once that the turn is lost, and lets the command go on", async () => {
    const started = turn(shell(LISTENING));
    await giveUp(await listening(started));
    await started.until(/the turn is lost/);
    end();
    const { code, stdout, stderr } = await started.ended;
    expect([code, /got/.test(stdout)]).to.deep.equal([9, false]);
    expect(stderr.match(/paihao: .*/g)).to.deep.equal([
      "paihao: the turn is lost: The task was canceled; the command goes on",
    ]);
  });

  it("stops the command when the turn is lost, if told to: TERM, then KILL", async () => {
    const started = turn(["--on-loss", "stop", ...shell(LISTENING)]);
    await giveUp(await listening(started));
    await started.until(/got TERM/);
    const begun = performance.now();
    const { code, stderr } = await started.ended;
    expect(code).to.equal(137);
    expect(performance.now() - begun).to.be.above(8000);
    expect(stderr).to.match(/paihao: the turn is lost: [^\n]*; stopping the command\n$/);
  });

  it("runs nothing where a handler works, where there is no queue, and where there is no server", async () => {
    const other = await startServer();
    try {
      const url = { env: { PAIHAO_URL: other.url } };
      const ofHandler = await runCli(["turn", "default", "--", "echo", "ran"], url);
      expect([ofHandler.code, ofHandler.stdout]).to.deep.equal([6, ""]);
      const unknown = await runCli(["turn", "nothing", "--", "echo", "ran"], url);
      expect([unknown.code, unknown.stdout]).to.deep.equal([3, ""]);
    } finally {
      await other.stop();
    }
    const away = await runCli(["turn", "gpu", "--url", "http://127.0.0.1:1", "--", "echo", "ran"]);
    expect([away.code, away.stdout]).to.deep.equal([4, ""]);
  });

  it("refuses a command line that it does not understand", async () => {
    for (const args of [["gpu"], ["gpu", "--on-loss", "cry", "--", "true"], ["GPU", "--", "true"]]) {
      expect((await runCli(["turn", ...args], { env: env() })).code, args.join(" ")).to.equal(2);
    }
  });

  describe("while the server is away", () => {
    let away: ServerProcess | undefined;
    const start = async (port: number, prefix: string) => {
      const handlers = path.join(dir, "handlers");
      away = await startProcess({ PORT: String(port), KEY_PREFIX: prefix, HANDLERS: handlers });
    };
    beforeEach(() => {
      mkdirSync(path.join(dir, "handlers"));
      writeFileSync(path.join(dir, "handlers/queues.json"), '{ "gpu": { "turns": 1 } }');
    });
    afterEach(() => endProcesses(away ? [away] : []));

    it("the command goes on, and its turn is kept and ended", async () => {
      const [port, prefix] = [await reservePort(), uniquePrefix()];
      await start(port, prefix);
      const started = turn(shell(LISTENING), { env: { PAIHAO_URL: `http://127.0.0.1:${port}` } });
      const id = await listening(started);
      await endProcesses(away ? [away] : []);
      await started.until(/the server is away/);
      await start(port, prefix);
      await started.until(/the server is back/);
      end();
      const { code, stdout, stderr } = await started.ended;
      expect([code, /got/.test(stdout)]).to.deep.equal([9, false]);
      expect(stderr.trim().split("\n")).to.deep.equal([
        "your turn in gpu: sh runs",
        "the server is away; the command goes on",
        "the server is back",
      ]);
      const answer = await fetch(`http://127.0.0.1:${port}/v1/requests/${id}`);
      expect(await answer.json()).to.deep.equal({ exitCode: 9 });
    });

    it("the end of the command is told for some seconds more, and its exit code remains", async () => {
      const port = await reservePort();
      await start(port, uniquePrefix());
      const started = turn(shell(LISTENING), { env: { PAIHAO_URL: `http://127.0.0.1:${port}` } });
      await listening(started);
      await endProcesses(away ? [away] : []);
      end();
      const begun = performance.now();
      const { code, stderr } = await started.ended;
      expect(code).to.equal(9);
      expect(performance.now() - begun).to.be.within(8000, 15_000);
      expect(stderr).to.match(/could not be told that the turn is over; it ends with its presence\n$/);
    });
  });

  describe("on a terminal", () => {
    const terminals: Terminal[] = [];
    before(function () {
      if (!hasTerminal()) this.skip();
    });
    afterEach(async () => {
      for (const terminal of terminals.splice(0)) await terminal.close();
    });

    it("rewrites one line while it waits, and leaves Ctrl-C to the terminal, which sends it to the command", async () => {
      const holders = [await held(), await held()];
      const command = [process.execPath, ...builtCommand(), "turn", "gpu", ...shell(LISTENING)];
      const terminal = new Terminal(command, env());
      terminals.push(terminal);
      await terminal.until(/place 2 in line/);
      await giveUp(holders[1] ?? "");
      await terminal.until(/place 1 in line/);
      expect(terminal.screen.text.match(/place/g)).to.have.length(1);
      await giveUp(holders[0] ?? "");
      await terminal.until(/^your turn in gpu: sh runs\nturn \w+/);
      terminal.type("\x03");
      await terminal.until(/got INT/);
      end();
      expect(await terminal.ended).to.equal(9);
      expect(terminal.screen.text.match(/got/g)).to.have.length(1);
    });

    it("leaves what the command has written, also a line without an end", async () => {
      const command = [process.execPath, ...builtCommand(), "turn", "gpu", ...shell("printf 'half a line'")];
      const terminal = new Terminal(command, env());
      terminals.push(terminal);
      expect(await terminal.ended).to.equal(0);
      expect(terminal.screen.text.trimEnd()).to.equal("your turn in gpu: sh runs\nhalf a line");
    });
  });
});
