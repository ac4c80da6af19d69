import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { connectOnce } from "../../../../src/store/servers/connect-once.ts";
import { exchange, type Sent } from "../../../helpers/http/server.ts";
import { endProcesses, type ServerProcess, startProcess } from "../../../helpers/server-process.ts";
import { uniquePrefix } from "../../../helpers/store/run-store.ts";
import { reservePort } from "../../../shared/ports.ts";
import { programOnPath } from "../../../shared/programs.ts";
import { type PrivateRedis, startRedis } from "../../../shared/redis-server.ts";
import { Api, doorAt, QUEUE } from "./door.ts";

/** The lease, which is the presence of those who wait and are served, too. */
const LEASE_MS = 2000;

/** A process with a door of the same queue. */
interface Member extends ReturnType<typeof doorAt> {
  readonly process: ServerProcess;
}

describe("doors of several processes", function () {
  this.timeout(90_000);
  const processes: ServerProcess[] = [];
  let redis: PrivateRedis;
  let api: Api;
  let dir: string;
  let prefix: string;

  before(async function () {
    if (programOnPath("redis-server") === undefined) this.skip();
    redis = await startRedis({ args: ["--appendonly", "yes"] });
  });
  after(() => redis?.stop());
  beforeEach(async () => {
    api = await Api.start();
    dir = await mkdtemp(path.join(tmpdir(), "paihao-doors-"));
    prefix = uniquePrefix();
  });
  afterEach(async () => {
    await endProcesses(processes.splice(0));
    await api.stop();
    await rm(dir, { recursive: true });
  });

  const start = async (): Promise<Member> => {
    const port = await reservePort();
    const handlers = await mkdtemp(path.join(dir, "handlers-"));
    await writeFile(
      path.join(handlers, "door.mjs"),
      `import { defineGateway } from "paihao";
       export default defineGateway({ queue: "${QUEUE}", target: "${api.url}", listen: ${port} });`,
    );
    const env = { REDIS_URL: redis.url, KEY_PREFIX: prefix, PORT: "0", HANDLERS: handlers };
    const process = await startProcess({ ...env, LEASE: `${LEASE_MS / 1000}s`, DRAIN_TIMEOUT: "10s" });
    processes.push(process);
    const send = (at: string, sent?: Sent) => exchange(new URL(at, process.url), sent);
    return { ...doorAt(port, { send }), process };
  };

  it("share their slots in one line, and the line goes on when one of them is killed", async () => {
    const [a, b] = [await start(), await start()];
    const first = a.call("/hold/1");
    const served = await api.next();
    const second = b.call("/hold/2");
    await b.until(1, 1);
    const third = a.call("/hold/3");
    await b.until(1, 2);
    const fourth = b.call("/hold/4");
    await b.until(1, 3);
    const killed = performance.now();
    a.process.child.kill("SIGKILL");
    expect(await served.end).to.equal("aborted");
    for (const { answer } of [first, third]) expect(await answer.catch(() => "broken")).to.equal("broken");
    const next = await api.next();
    expect(performance.now() - killed).to.be.within(LEASE_MS / 2, 2 * LEASE_MS + 2000);
    expect(next.line).to.equal("GET /hold/2");
    next.response.end("2");
    expect((await second.answer).text).to.equal("2");
    const last = await api.next();
    expect(last.line, "not the one who is gone").to.equal("GET /hold/4");
    last.response.end("4");
    expect((await fourth.answer).text).to.equal("4");
    await b.expectFree();
  });

  it("let those finish who are served at SIGTERM, send the others elsewhere, and leave nothing behind", async () => {
    const [a, b] = [await start(), await start()];
    const first = a.call("/hold/1");
    const served = await api.next();
    const waiting = [2, 3].map((n) => a.call(`/hold/${n}`));
    await b.until(1, 2);
    const elsewhere = b.call("/4");
    await b.until(1, 3);
    a.process.child.kill("SIGTERM");
    for (const { answer } of waiting) {
      const { status, headers, json } = await answer;
      expect([status, headers["retry-after"], json.type]).to.deep.equal([503, "1", "/problems/stopping"]);
    }
    await b.until(1, 1);
    expect(await a.send("/new").catch(() => "refused")).to.equal("refused");
    served.response.write("begun, ");
    await delay(500);
    served.response.end("done");
    expect((await first.answer).text).to.equal("begun, done");
    expect((await elsewhere.answer).text).to.equal("ok");
    expect(await a.process.ended).to.equal(0);
    await b.expectFree();
  });

  it("serve on, and keep the places of all others, while the store is away for longer than a lease", async () => {
    const [a, b] = [await start(), await start()];
    const first = a.call("/hold/1");
    const served = await api.next();
    const ended = b.call("/hold/2");
    await a.until(1, 1);
    const third = b.call("/3");
    await a.until(1, 2);
    const fourth = a.call("/4");
    await a.until(1, 3);
    served.response.write("begun, ");
    await redis.stop("SIGKILL");
    await delay(1.5 * LEASE_MS);
    served.response.write("goes on, ");
    const refused = await a.send("/5");
    expect([refused.status, refused.json.type]).to.deep.equal([503, "/problems/store-unavailable"]);
    expect(api.asked.length).to.equal(1);
    await redis.restart();
    await a.until(1, 3);
    await delay(LEASE_MS);
    await a.until(1, 3);
    // The next one ends while the store is away.
    served.response.end("done");
    expect((await first.answer).text).to.equal("begun, goes on, done");
    const next = await api.next();
    expect(next.line).to.equal("GET /hold/2");
    await redis.stop("SIGKILL");
    next.response.end("2");
    expect((await ended.answer).text).to.equal("2");
    await redis.restart();
    expect((await third.answer).text).to.equal("ok");
    expect((await fourth.answer).text).to.equal("ok");
    expect(api.asked.map(({ line }) => line)).to.deep.equal(["GET /hold/1", "GET /hold/2", "GET /3", "GET /4"]);
    await a.expectFree();
  });

  it("serve those who have come before the store is full, and refuse others until it is not", async () => {
    const a = await start();
    const first = a.call("/hold/1");
    const served = await api.next();
    const second = a.call("/hold/2");
    await a.until(1, 1);
    const control = await connectOnce(redis.url);
    await control.config("SET", "maxmemory", "1");
    const refused = await a.send("/3");
    expect([refused.status, refused.json.type]).to.deep.equal([503, "/problems/store-full"]);
    served.response.end("1");
    expect((await first.answer).text).to.equal("1");
    const next = await api.next();
    next.response.end("2");
    expect((await second.answer).text).to.equal("2");
    await control.config("SET", "maxmemory", "0");
    control.disconnect();
    await a.expectFree();
  });
});
