import { expect } from "chai";
import { builtCommand } from "../helpers/build.ts";
import { closedGate, type Gate } from "../helpers/gates.ts";
import { startServer, type TestServer } from "../helpers/http/server.ts";
import { hasTerminal, Terminal } from "../helpers/terminal.ts";
import { eventually } from "../shared/eventually.ts";

describe("paihao on a terminal", function () {
  this.timeout(120_000);
  let server: TestServer;
  const open: Terminal[] = [];
  before(function () {
    if (!hasTerminal()) this.skip();
  });
  beforeEach(async () => {
    server = await startServer();
  });
  afterEach(async () => {
    for (const terminal of open.splice(0)) await terminal.close();
    await server?.stop();
  });

  const start = (
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
    size?: { columns: number; rows: number },
  ): Terminal => {
    const command = [process.execPath, ...builtCommand(), ...args];
    const terminal = new Terminal(command, { PAIHAO_URL: server.url, ...env }, size);
    open.push(terminal);
    return terminal;
  };
  /** Fills the queue `gated`, which runs one task at a time; returns the gates, that of the running one first. */
  const fill = async (n: number): Promise<Gate[]> => {
    const gates = Array.from({ length: n }, closedGate);
    for (const gate of gates) await server.enqueue("gated", gate.input);
    await gates[0]?.entered;
    return gates;
  };
  const submitWatched = (gate: Gate) =>
    start(["submit", "gated", JSON.stringify(gate.input), "--watch", "--id", "mine"]);

  it("shows in history which steps of a task were undone", async () => {
    const HANDLERS = new URL("../fixtures/handlers/undo", import.meta.url).pathname;
    const other = await startServer({ HANDLERS });
    try {
      const id = await other.enqueue("booking", { undoable: true });
      await other.until(`${id}:undo:booking`, "succeeded");
      const terminal = start(["history", id], { PAIHAO_URL: other.url });
      await terminal.until(/steps +book:42 \(undone [\d.]+ m?s ago\)/);
    } finally {
      await other.stop();
    }
  });

  it("shows the place in line from 3 to 1, then a bar with the handler's words, then the result", async () => {
    const gates = await fill(3);
    const mine = closedGate();
    const terminal = submitWatched(mine);
    await terminal.until(/waiting, place 3 in line \(2 before it\)/);
    gates[0]?.open();
    await terminal.until(/place 2 in line \(1 before it\)/);
    gates[1]?.open();
    await terminal.until(/place 1 in line \(next\)/);
    gates[2]?.open();
    const task = await mine.entered;
    await task.progress(50, "half of it\u001b[2J 你好");
    await terminal.until(/█{12}░{12} 50 % {2}half of it\ufffd\[2J 你好/);
    mine.open({ words: ["你好", 2] });
    expect(await terminal.ended).to.equal(0);

    const { screen } = terminal;
    const places = screen.frames.flatMap((line) => /place (\d)/.exec(line)?.[1] ?? []);
    expect([...new Set(places)]).to.deep.equal(["3", "2", "1"]);
    const [head, end, ...result] = screen.text.trimEnd().split("\n");
    expect(head).to.equal("submitted as mine");
    expect(end).to.match(/^succeeded in [\d.]+ m?s/);
    expect(JSON.parse(result.join("\n"))).to.deep.equal({ words: ["你好", 2] });
    expect(result, "indented").to.have.lengthOf(6);
    expect(screen.styled).to.equal(true);
  });

  it("writes what the handler writes above the line, and none of it as control sequences", async () => {
    const [gate] = await fill(1);
    const task = await gate?.entered;
    const terminal = start(["watch", task?.id ?? ""]);
    await terminal.until(/running/);
    for (const word of ["one ", "two\n", "three\u0007\u001b[31m"]) await task?.write(word);
    await task?.write({ n: 4 });
    await terminal.until(/"n":4/);
    gate?.open("done");
    expect(await terminal.ended).to.equal(0);
    const lines = terminal.screen.text.split("\n");
    expect(lines.slice(0, 2)).to.deep.equal(["one two", 'three\ufffd\ufffd[31m{"n":4}']);
    expect(lines.slice(2).join("\n")).to.match(/^succeeded in .*\n"done"\n/);
  });

  it("leaves the task running at Ctrl-C, and says how to go on watching", async () => {
    const [gate] = await fill(1);
    const mine = closedGate();
    const terminal = submitWatched(mine);
    await terminal.until(/place 1/);
    terminal.type("\x03");
    expect(await terminal.ended).to.equal(130);
    expect(terminal.screen.text).to.include("interrupted; the task goes on; to watch it: paihao watch mine");
    gate?.open();
    await mine.entered;
    mine.open("still done");
    expect((await server.until("mine", "succeeded")).json.id).to.equal("mine");
  });

  it("has tables with a heading, and no colour with NO_COLOR", async () => {
    await fill(3);
    const table = start(["ls", "gated"]);
    expect(await table.ended).to.equal(0);
    expect(table.screen.text).to.match(/^ID +PLACE +SUBMITTED +STARTS IN\n\S+ +1 +[\d.]+ s ago .*\n\S+ +2 /);
    expect(table.screen.styled).to.equal(true);
    const grey = start(["ls", "gated"], { NO_COLOR: "1" });
    expect(await grey.ended).to.equal(0);
    expect(grey.screen.text).to.match(/^ID +PLACE/);
    expect(grey.screen.styled).to.equal(false);
  });

  it("asks before it deletes dead tasks", async () => {
    await server.enqueue("failing", 1);
    await server.enqueue("failing", 2);
    const dead = async () => (await server.send("/v1/queues/failing")).json.dead;
    await eventually(async () => (await dead()) === 2);
    for (const [answer, code, left] of [
      ["n\r", 1, 2],
      ["\x03", 1, 2],
      ["y\r", 0, 0],
    ] as const) {
      const terminal = start(["dead", "delete", "failing", "--all"]);
      await terminal.until(/Delete 2 dead tasks of failing for good\? \[y\/N\]/);
      terminal.type(answer);
      expect(await terminal.ended, JSON.stringify(answer)).to.equal(code);
      expect(await dead()).to.equal(left);
    }
  });

  it("does not show a result that is not text, and says how to save it", async () => {
    await server.post("answers", { kind: "bytes" }, { "X-Request-Id": "bytes" });
    const terminal = start(["get", "bytes"]);
    expect(await terminal.ended).to.equal(0);
    expect(terminal.screen.text.trim()).to.equal(
      "the result is application/octet-stream, 4 bytes; to save it: paihao get bytes > FILE",
    );
  });

  it("shows complete lines on a terminal without a size", async () => {
    const command = [process.execPath, ...builtCommand(), "queues"];
    const terminal = new Terminal(command, { PAIHAO_URL: server.url }, { columns: 0, rows: 0 });
    open.push(terminal);
    expect(await terminal.ended).to.equal(0);
    expect(terminal.screen.text).to.match(/^QUEUE .*WAIT.* STARTS/m);
  });

  it("writes no escape sequences if TERM is dumb", async () => {
    const [gate] = await fill(1);
    const mine = closedGate();
    const env = { TERM: "dumb" };
    const watched = start(["submit", "gated", JSON.stringify(mine.input), "--watch", "--id", "mine"], env);
    await watched.until(/mine: waiting, place 1/);
    gate?.open();
    await mine.entered;
    mine.open("done");
    expect(await watched.ended).to.equal(0);
    expect(watched.screen.text).to.match(/mine: succeeded in .*\n"done"/);
    const top = start(["top"], env);
    expect(await top.ended, "once").to.equal(0);
    expect(top.screen.text).to.match(/^QUEUE .*WAIT/);
    const asked = start(["dead", "delete", "failing", "--all"], env);
    await asked.until(/\[y\/N\]/);
    asked.type("n\r");
    expect(await asked.ended).to.equal(1);
    for (const { written } of [watched, top, asked]) expect(written).to.not.contain("\u001b");
  });

  it("scrolls with top, and shows its keys all the time", async () => {
    const terminal = start(["top", "--interval", "100ms"], {}, { columns: 40, rows: 8 });
    await terminal.until(/1–4 of \d+$/);
    const [first = ""] = terminal.screen.text.split("\n").slice(3);
    terminal.type("\u001b[B");
    await terminal.until(/2–5 of \d+$/);
    expect(terminal.screen.text).to.not.contain(first);
    terminal.type("G");
    await terminal.until(/(\d+) of \1$/);
    terminal.type("g");
    await terminal.until(/1–4 of \d+$/);
    terminal.type("q");
    expect(await terminal.ended).to.equal(0);
  });

  it("shows all queues in one screen with top, follows them, and leaves the terminal as it was", async () => {
    const terminal = start(["top", "--interval", "100ms"]);
    await terminal.until(/gated +0 +0 /);
    expect(terminal.screen).to.include({ isAlternate: true, cursorShown: false });
    await fill(3);
    await terminal.until(/gated +2 +1 /);
    terminal.type("q");
    expect(await terminal.ended).to.equal(0);
    expect(terminal.screen).to.include({ isAlternate: false, cursorShown: true });
    expect(terminal.screen.text.trim()).to.equal("");
  });
});
