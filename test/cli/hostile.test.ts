import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import { builtCommand } from "../helpers/build.ts";
import { runCli, startCli } from "../helpers/cli.ts";
import { hasTerminal, Terminal } from "../helpers/terminal.ts";

/** A title for the window, a clear screen, text that is read from the right, a deletion, and a line that seems to be of the program. */
const EVIL = "\u001b]0;owned\u0007\u001b[2J\u009b2J\u202e\u2066\u0008\u007f\r\nforged: all is well";
/** Of these, the program itself writes none. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const OBEYED = /\u001b\]|\u001b\[2J|[\u0007\u0008\u007f-\u009f\u202e\u2066]/;

const eta = { seconds: EVIL, low: 1, high: 2, basis: EVIL, samples: 1 };
const STATUS = {
  ...{ id: EVIL, queue: EVIL, state: "running", attempt: 1, maxAttempts: EVIL, cancelRequested: false, eta: null },
  ...{ progress: { percent: 50, message: EVIL, estimated: false }, error: { code: EVIL, message: EVIL }, links: [] },
  ...{ createdAt: EVIL, startedAt: EVIL, finishedAt: null, expiresAt: EVIL, deadlineAt: EVIL, index: EVIL },
};
const QUEUE = {
  ...{
    name: EVIL,
    paused: true,
    waiting: EVIL,
    scheduled: EVIL,
    running: EVIL,
    dead: EVIL,
    workers: EVIL,
    slots: EVIL,
  },
  ...{ oldestWaitingSeconds: EVIL, serviceTime: { mean: EVIL, samples: 1 }, rate: { accepted: EVIL, finished: EVIL } },
  ...{ eta, order: EVIL, slotsWanted: EVIL, resting: { since: EVIL, reason: EVIL, nextProbe: EVIL } },
  settings: {
    rate: { declared: { max: EVIL, per: EVIL }, now: { max: EVIL, per: 1 } },
    concurrency: { declared: EVIL, now: 1 },
    total: { declared: EVIL, now: EVIL },
  },
  ...{ consumes: [EVIL], input: { [EVIL]: EVIL }, turns: { longest: EVIL } },
};
const WORKER = {
  ...{ id: EVIL, kind: EVIL, slots: { [EVIL]: EVIL }, running: [EVIL], lostAt: EVIL, quiet: true },
};
const SCHEDULE = {
  ...{ id: EVIL, queue: EVIL, cron: EVIL, timeZone: EVIL, next: [EVIL], last: { id: EVIL, at: EVIL, state: EVIL } },
  ...{ declared: true, orphan: true, paused: true, label: EVIL, missed: EVIL, overlap: EVIL },
};
const INCIDENT = {
  kind: EVIL,
  level: EVIL,
  queue: EVIL,
  text: EVIL,
  list: EVIL,
  advice: EVIL,
  runbook: EVIL,
  since: EVIL,
};
const PROBLEM = {
  ...{ type: "/problems/constructor", title: EVIL, status: 400, detail: EVIL },
  errors: [{ pointer: EVIL, detail: EVIL }],
};
const OUTPUT = { seq: 0, run: 2, attempt: EVIL, data: EVIL };

/** The memory of a process; 0 once it has ended. */
function residentKb(pid = 0): number {
  const file = `/proc/${pid}/status`;
  return existsSync(file) ? Number(/VmRSS:\s+(\d+)/.exec(readFileSync(file, "utf8"))?.[1] ?? 0) : 0;
}

describe("what a hostile server says", function () {
  this.timeout(120_000);
  let server: Server;
  let url: string;
  before(async () => {
    server = createServer((req, res) => {
      const path = new URL(req.url ?? "", "http://a").pathname;
      const send = (document: unknown, headers: Record<string, string> = {}, status = 200) =>
        res.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(document));
      if (path.endsWith("/events")) {
        const done = { ...STATUS, state: "failed", finishedAt: EVIL, problem: PROBLEM };
        const events = [`event: status\nid: 1\ndata: ${JSON.stringify(STATUS)}\n`];
        events.push(`event: output\nid: 2\ndata: ${JSON.stringify(OUTPUT)}\n`);
        events.push(`event: done\ndata: ${JSON.stringify(done)}\n\n`);
        res.writeHead(200, { "Content-Type": "text/event-stream" }).end(events.join("\n"));
      } else if (path.includes("refused")) send(PROBLEM, {}, 400);
      else if (path.endsWith("/text")) res.writeHead(200, { "Content-Type": "text/plain" }).end(EVIL);
      else if (path.endsWith("/own")) res.writeHead(200, { "Content-Type": "application/json" }).end(`{${EVIL}`);
      else if (path === "/v1/queues") send({ items: [QUEUE] });
      else if (path === "/v1/incidents") send({ items: [INCIDENT] });
      else if (path === "/v1/workers") send({ items: [WORKER], truncated: false });
      else if (path === "/v1/schedules") send({ items: [SCHEDULE], next: null });
      else if (path.endsWith("/dead/errors"))
        send({ items: [{ error: EVIL, count: EVIL, firstAt: EVIL, lastAt: EVIL }], others: EVIL });
      else if (/dead$|running$/.test(path)) send({ items: [STATUS], next: null });
      else if (path.endsWith("/status")) send(STATUS);
      else if (/queues\/[a-z]+(\/pause)?$/.test(path)) send(QUEUE);
      else send({ [EVIL]: EVIL, ...STATUS, state: "canceled" });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => {
    server.close();
    server.closeAllConnections();
  });

  const COMMANDS = `status a, status a --json, queues, queues greet, queues greet --json, pause greet,
    ls greet --state running, dead ls greet, dead ls greet --ids, dead ls greet --ids --json, dead delete greet --all, output a, output a --json,
    watch a, watch a --json, get a, get a --json, get text, get own, get own --json, cancel a, status refused,
    get refused --json, top --once, top, workers, schedules`.split(/,\s+/);

  for (const command of COMMANDS) {
    it(`cannot control the terminal: paihao ${command}`, async function () {
      if (!hasTerminal()) this.skip();
      const words = [process.execPath, ...builtCommand(), ...command.split(" ")];
      const terminal = new Terminal(words, { PAIHAO_URL: url }, { columns: 2000, rows: 50 });
      try {
        if (command.startsWith("dead delete")) {
          await terminal.until(/\[y\/N\]/);
          terminal.type("n\r");
        }
        if (command === "top") {
          await terminal.until(/owned/);
          terminal.type("q");
        }
        await terminal.ended;
        expect(terminal.written).to.include("owned");
        expect(terminal.written).to.not.match(OBEYED);
        if (!/output|watch|text|own/.test(command)) expect(terminal.written).to.not.match(/^forged/m);
      } finally {
        await terminal.close();
      }
    });
  }

  it("is written by get as it comes, however long it is, and asked for once", async () => {
    const part = Buffer.alloc(1 << 20, "x");
    let asked = 0;
    const endless = createServer((_, response) => {
      asked += 1;
      response.writeHead(200, { "Content-Type": "application/octet-stream", "X-Task-State": "succeeded" });
      let left = 300;
      const more = () => {
        while (left > 0) {
          left -= 1;
          if (!response.write(part)) return;
        }
        response.destroy();
      };
      response.on("drain", more);
      more();
    }).listen(0, "127.0.0.1");
    await once(endless, "listening");
    const { port } = endless.address() as AddressInfo;
    const { child, ended } = startCli(["get", "a", "--url", `http://127.0.0.1:${port}`], { contract: false });
    child.stdout?.removeAllListeners("data");
    let [bytes, peak] = [0, 0];
    child.stdout?.on("data", (text: string) => {
      bytes += text.length;
      peak = Math.max(peak, residentKb(child.pid));
    });
    const { code, stderr } = await ended;
    endless.close();
    expect(stderr).to.match(/^paihao: the result broke off: .*; to get it again: paihao get a\n$/);
    expect([code, asked]).to.deep.equal([4, 1]);
    expect(bytes).to.be.above(250 << 20);
    expect(peak, "kB").to.be.within(1, 200_000);
  });

  it("is unchanged in a pipe", async () => {
    expect((await runCli(["get", "text", "--url", url], { contract: false })).stdout).to.equal(EVIL);
    expect((await runCli(["get", "own", "--url", url], { contract: false })).stdout).to.equal(`{${EVIL}\n`);
    const json = (await runCli(["status", "a", "--json", "--url", url], { contract: false })).stdout;
    expect(json).to.equal(`${JSON.stringify(STATUS)}\n`);
  });
});
