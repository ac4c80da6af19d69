import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import http, { type IncomingMessage } from "node:http";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { expect } from "chai";
import { builtCommand } from "../helpers/build.ts";
import { openEngine } from "../helpers/engine.ts";
import { exchange } from "../helpers/http/server.ts";
import { childrenOf, processGone, refuses } from "../helpers/process.ts";
import { storeUrl, uniquePrefix } from "../helpers/store/run-store.ts";
import { eventually } from "../shared/eventually.ts";
import { reservePort } from "../shared/ports.ts";
import { ROOT } from "../shared/root.ts";

/** The processes of a server take a second of CPU each to start, and on a machine with much to do many times as long. */
const PATIENCE_MS = 90_000;

/** With which a handler file in any folder begins. */
const IMPORTED = `import { defineHandler } from ${JSON.stringify(pathToFileURL(path.join(ROOT, "dist/index.js")).href)};`;

/** A `paihao start` of its own, as a person starts it. */
interface Started {
  readonly primary: ChildProcess;
  readonly pid: number;
  /** Everything it has printed. */
  printed(): string;
  /** Where its greeting says that it listens. */
  url(): Promise<string>;
}

function startCli(env: Record<string, string>, cwd?: string): Started {
  const primary = spawn(process.execPath, [...builtCommand(), "start"], {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: process.env.PATH,
      REDIS_URL: storeUrl(),
      KEY_PREFIX: uniquePrefix(),
      PORT: "0",
      LOG_LEVEL: "error",
      ...env,
    },
  });
  let printed = "";
  for (const stream of [primary.stdout, primary.stderr]) {
    stream?.on("data", (part: Buffer) => {
      printed += part.toString();
    });
  }
  return {
    primary,
    pid: primary.pid ?? Number.NaN,
    printed: () => printed,
    url: () =>
      eventually(() => {
        if (primary.exitCode !== null) throw new Error(`it ended: ${printed}`);
        return / is ready on (\S+)/.exec(printed)?.[1] ?? false;
      }, PATIENCE_MS) as Promise<string>,
  };
}

/** The processes of a server, but for its store. */
const membersOf = (pid: number) => childrenOf(pid).filter((child) => commandOf(child).includes("member"));

/** Submits until it is over, with a pause after each answer; returns how many were answered. No server may refuse, cut off or forget it. */
async function call(url: URL, { isAsync, keeps, pauseMs }: Caller, isOver: () => boolean): Promise<number> {
  const agent = keeps && new http.Agent({ keepAlive: true, maxSockets: 1 });
  let kept = false;
  let count = 0;
  for (; !isOver(); count += 1) {
    const headers = { "Content-Type": "application/json", ...(isAsync ? { Prefer: "respond-async" } : {}) };
    const request = http.request(url, { method: "POST", agent, headers });
    request.end("1");
    const [answer] = (await once(request, "response", { signal: AbortSignal.timeout(PATIENCE_MS) })) as [
      IncomingMessage,
    ];
    expect(answer.statusCode).to.equal(isAsync ? 202 : 200);
    expect(request.reusedSocket, "a connection that the server said to keep").to.equal(kept);
    answer.resume();
    await once(answer, "end");
    kept = answer.headers.connection === "keep-alive";
    await sleep(pauseMs);
  }
  if (agent) agent.destroy();
  return count;
}

interface Caller {
  readonly isAsync: boolean;
  /** Whether it uses a connection for several requests. */
  readonly keeps: boolean;
  readonly pauseMs: number;
}

/** Empty for a process that has ended meanwhile. */
function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
}

describe("a server of several processes (WEB_CONCURRENCY)", function () {
  this.timeout(3 * PATIENCE_MS);
  const started: Started[] = [];
  before(function () {
    if (process.platform !== "linux") this.skip();
  });
  afterEach(async () => {
    for (const { primary } of started.splice(0)) {
      if (primary.exitCode !== null || primary.signalCode !== null) continue;
      const gone = once(primary, "exit");
      primary.kill("SIGKILL");
      await gone;
    }
  });
  const start = (env: Record<string, string> = {}, cwd?: string): Started => {
    const one = startCli({ WEB_CONCURRENCY: "2", ...env }, cwd);
    started.push(one);
    return one;
  };

  it("answers on one port, prints one ready line, restarts dead members, and ends them all on SIGTERM", async () => {
    // A port of its own: when all who listen have died, another 0 would be another port.
    const server = start({ PORT: String(await reservePort()) });
    const url = await server.url();
    expect(server.printed().match(/ is ready/g)).to.have.lengthOf(1);
    const members = membersOf(server.pid);
    expect(members, "two for requests and one for tasks").to.have.lengthOf(3);
    const submit = async () => {
      const body = { seconds: 0 };
      const answer = await exchange(new URL("/v1/requests", url), { method: "POST", body });
      return answer.status;
    };
    expect(await Promise.all(Array.from({ length: 10 }, submit))).to.deep.equal(new Array(10).fill(200));

    for (const pid of members) process.kill(pid, "SIGKILL");
    await Promise.all(members.map(processGone));
    await eventually(() => membersOf(server.pid).length === 3, PATIENCE_MS);
    await eventually(async () => (await submit()) === 200, PATIENCE_MS);

    const last = childrenOf(server.pid);
    server.primary.kill("SIGTERM");
    const [code] = await once(server.primary, "exit");
    expect(code).to.equal(0);
    await Promise.all(last.map(processGone));
  });

  it("answers waiting requests before it ends, even if all its processes get the signal", async () => {
    const prefix = uniquePrefix();
    const server = start({ KEY_PREFIX: prefix, DRAIN_TIMEOUT: "60s" });
    const url = await server.url();
    const post = (at: string, body?: unknown) => exchange(new URL(at, url), { method: "POST", body });
    await post("/v1/queues/default/pause");
    const answers = Array.from({ length: 10 }, () => post("/v1/requests", { seconds: 0 }));
    await eventually(async () => (await exchange(new URL("/v1/queues/default", url))).json.waiting === 10);
    const members = membersOf(server.pid);
    // As a service manager does it.
    for (const pid of [...members, server.pid]) process.kill(pid, "SIGTERM");
    await eventually(() => refuses(url));
    const { engine, close } = await openEngine({ prefix });
    await engine.queues.pause("default", false);
    expect((await Promise.all(answers)).map(({ status }) => status)).to.deep.equal(new Array(10).fill(200));
    const [code] = await once(server.primary, "exit");
    expect(code).to.equal(0);
    await Promise.all(members.map(processGone));
    await close();
  });

  it("answers every request although a process dies that has not accepted it yet", async () => {
    const server = start({ ROLE: "api" });
    const url = await server.url();
    const [dying = 0, other = 0] = childrenOf(server.pid);
    for (const pid of [dying, other]) process.kill(pid, "SIGSTOP");
    const sockets = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const socket = net.connect(Number(new URL(url).port), "127.0.0.1");
        await once(socket, "connect");
        return socket.end("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
      }),
    );
    process.kill(dying, "SIGKILL");
    process.kill(other, "SIGCONT");
    for (const socket of sockets) expect(String((await once(socket, "data"))[0])).to.match(/^HTTP\/1.1 200 /);
  });

  it("closes connections beyond MAX_CONNECTIONS of all its processes at once", async () => {
    const { port } = new URL(await start({ ROLE: "api", MAX_CONNECTIONS: "1" }).url());
    const sockets = Array.from({ length: 5 }, () =>
      net.connect(Number(port), "127.0.0.1").on("error", () => undefined),
    );
    await eventually(() => sockets.filter(({ closed }) => closed).length >= 3);
    for (const socket of sockets) socket.destroy();
  });

  it("reports a configuration error once, and leaves no process behind", async () => {
    const server = start({ HANDLERS: "/nowhere/at/all", ROLE: "api" });
    const [code] = await once(server.primary, "exit");
    expect(code).to.equal(1);
    expect(server.printed().match(/\/nowhere\/at\/all/g)).to.have.lengthOf(1);
  });

  it("measures all its processes together, whichever answers", async () => {
    const url = await start().url();
    const send = (at: string, method: string, body?: unknown) => exchange(new URL(at, url), { method, body });
    const submit = () => send("/v1/requests", "POST", { seconds: 0 });
    await Promise.all(Array.from({ length: 10 }, submit));
    // A caller may have its answer before it is counted.
    await eventually(async () => {
      for (const { text } of await Promise.all(Array.from({ length: 4 }, () => send("/metrics", "GET")))) {
        expect(text).to.contain('paihao_submissions_total{queue="default",verdict="new"} 10\n');
        expect(text).to.contain('paihao_attempts_total{queue="default",ending="done"} 10\n');
        expect(text).to.contain('paihao_queue_workers{queue="default"} 1\n');
        expect(text).to.contain("paihao_ready 1\n");
      }
    });
  });

  it("replaces them one at a time on SIGHUP, with the code and .env of now; code that does not start changes nothing", async () => {
    const dir = await mkdtemp(path.join(tmpdir(), "paihao-fleet-"));
    const code = (text: string) => writeFile(path.join(dir, "handlers/now.mjs"), text);
    const answering = (word: string) =>
      code(
        `${IMPORTED}export const now = defineHandler({ queue: "now", run: () => "${word} " + process.env.GREETING });`,
      );
    try {
      await mkdir(path.join(dir, "handlers"));
      await writeFile(path.join(dir, ".env"), "HANDLERS=handlers\nGREETING=before\n");
      await answering("old");
      const server = start({ LOG_LEVEL: "info" }, dir);
      const url = await server.url();
      const answer = async () => {
        const { status, json } = await exchange(new URL("/v1/queues/now/requests", url), { method: "POST", body: 1 });
        expect(status).to.equal(200);
        return json;
      };
      const members = () => membersOf(server.pid);
      expect(await answer()).to.equal("old before");
      const first = members();

      await code("export const now = no.such.thing;");
      server.primary.kill("SIGHUP");
      await eventually(() => server.printed().includes("the new code does not start"), PATIENCE_MS);
      expect(server.printed()).to.match(/now\.mjs/);
      expect(members()).to.deep.equal(first);
      expect(await answer()).to.equal("old before");

      await answering("new");
      await writeFile(path.join(dir, ".env"), "HANDLERS=handlers\nGREETING=after\n");
      server.primary.kill("SIGHUP");
      // None of these may fail.
      while (first.some((pid) => members().includes(pid))) expect(await answer()).to.match(/^(old before|new after)$/);
      expect(await answer()).to.equal("new after");
      expect(members()).to.have.length(3);
    } finally {
      await rm(dir, { recursive: true });
    }
  });

  it("refuses, cuts off and forgets no caller while it replaces them", async () => {
    const dir = await mkdtemp(path.join(tmpdir(), "paihao-fleet-"));
    await writeFile(
      path.join(dir, "quick.mjs"),
      `${IMPORTED}export const quick = defineHandler({ queue: "quick", run: () => "done" });`,
    );
    try {
      const server = start({ HANDLERS: dir });
      const url = new URL("/v1/queues/quick/requests", await server.url());
      const first = membersOf(server.pid);
      let isOver = false;
      const callers = [true, false].flatMap((isAsync) =>
        [true, false].flatMap((keeps) =>
          // The longer pause: idle connections, which a process that ends at once would close.
          [0, 0, 1000, 1000].map((pauseMs) => call(url, { isAsync, keeps, pauseMs }, () => isOver)),
        ),
      );
      const calling = Promise.all(callers);
      server.primary.kill("SIGHUP");
      const replaced = eventually(() => !first.some((pid) => membersOf(server.pid).includes(pid)), PATIENCE_MS);
      await Promise.race([replaced, calling]);
      isOver = true;
      expect(Math.min(...(await calling))).to.be.at.least(1);
      await replaced;
    } finally {
      await rm(dir, { recursive: true });
    }
  });

  it("of one drains on SIGHUP, as on SIGTERM, if there is no file of keys to read again", async () => {
    const server = start({ WEB_CONCURRENCY: "1" });
    await server.url();
    server.primary.kill("SIGHUP");
    expect(await once(server.primary, "exit")).to.deep.equal([0, null]);
  });

  it("ends processes that are still starting when it is stopped", async () => {
    const server = start({ ROLE: "api", LOG_LEVEL: "warn" });
    await server.url();
    const members = childrenOf(server.pid);
    for (const pid of members) process.kill(pid, "SIGKILL");
    await eventually(() => childrenOf(server.pid).filter((pid) => !members.includes(pid)).length === 2, PATIENCE_MS);
    server.primary.kill("SIGTERM");
    const [code] = await once(server.primary, "exit");
    expect(code).to.equal(0);
    expect(server.printed()).not.to.contain("did not exit in time");
  });

  it("leaves no process behind when it is killed", async () => {
    const server = start({ ROLE: "api" });
    await server.url();
    const members = childrenOf(server.pid);
    expect(members).to.have.lengthOf(2);
    server.primary.kill("SIGKILL");
    await Promise.all(members.map(processGone));
  });
});
