import { expect } from "chai";
import { defineGateway } from "../../../src/extras/gateway/gateway.ts";
import { requestInput } from "../../../src/extras/gateway/request.ts";
import { isRetryLater } from "../../../src/handler/intents.ts";
import type { TaskContext } from "../../../src/handler/task-context.ts";
import { taskContext, thrownBy } from "../../handlers/context.ts";
import { exchange } from "../../helpers/http/server.ts";
import { endProcesses, type ServerProcess, startProcess } from "../../helpers/server-process.ts";
import { endLeases } from "../../helpers/store/end-leases.ts";
import { uniquePrefix } from "../../helpers/store/run-store.ts";
import { field, type RawAnswer, startGateways, useGateways } from "./gateway.ts";

const never: RawAnswer = () => undefined;
const cutOff: RawAnswer = (socket) => socket.destroy();
const brokenOff: RawAnswer = (socket) => {
  socket.end("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this");
};
const beyond: RawAnswer = "HTTP/1.1 799 What\r\nContent-Length: 0\r\n\r\n";
const noHttp: RawAnswer = "hello\r\n\r\n";
const switched: RawAnswer = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n";
const FAULTS = { never, cutOff, brokenOff, beyond, noHttp, switched };

const gateways = (port: number) =>
  `export const rw = defineGateway({ queue: "rw", target: "http://127.0.0.1:${port}", attempts: 2, timeout: "400ms" });
   export const slow = defineGateway({ queue: "slow", target: "http://127.0.0.1:${port}", attempts: 3 });
   export const none = defineGateway({ queue: "none", target: "http://127.0.0.1:1", attempts: 3 });`;

describe("a request that must not be carried out twice", () => {
  const t = useGateways(gateways);

  for (const [fault, answer] of Object.entries(FAULTS)) {
    for (const method of ["POST", "PATCH"]) {
      it(`is forwarded once, and ends as 502 with mayHaveBeenCarriedOut: ${method}, ${fault}`, async () => {
        const path = `/${method}-${fault}`;
        t.upstream.answer(path, answer, answer, answer);
        const seen = await t.server.send(`/v1/gateway/rw${path}`, { method, body: "x" });
        expect(seen.status).to.equal(502);
        expect(seen.json).to.include({
          title: "The API behind the gateway did not answer",
          mayHaveBeenCarriedOut: true,
          state: "failed",
        });
        expect(seen.json.detail).to.contain("may have been carried out");
        expect(t.upstream.to(path)).to.have.length(1);
      });
    }
    it(`is retried if it has an Idempotency-Key, which is forwarded: ${fault}`, async () => {
      const path = `/key-${fault}`;
      t.upstream.answer(path, answer);
      const headers = { "Idempotency-Key": `"${fault}"` };
      const seen = await t.server.send(`/v1/gateway/rw${path}`, { method: "POST", body: "x", headers });
      expect([seen.status, seen.text]).to.deep.equal([200, "ok"]);
      const keys = t.upstream.to(path).map((request) => field(request, "idempotency-key"));
      expect(keys).to.deep.equal([`"${fault}"`, `"${fault}"`]);
    });
    it(`is retried if its method is idempotent: ${fault}`, async () => {
      const path = `/put-${fault}`;
      t.upstream.answer(path, answer);
      const seen = await t.server.send(`/v1/gateway/rw${path}`, { method: "PUT", body: "x" });
      expect([seen.status, seen.text]).to.deep.equal([200, "ok"]);
      expect(t.upstream.to(path)).to.have.length(2);
    });
  }

  it("is answered with the API's 5xx or 429 at once", async () => {
    for (const status of ["500 Oops", "429 Slow"]) {
      t.upstream.answer("/refused", `HTTP/1.1 ${status}\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n`);
      const seen = await t.server.send("/v1/gateway/rw/refused", { method: "POST", body: "x" });
      expect(seen.status).to.equal(Number(status.slice(0, 3)));
      expect(seen.headers["retry-after"]).to.equal("0");
    }
    expect(t.upstream.to("/refused")).to.have.length(2);
  });

  it("was not carried out if no connection could be made, and the 502 says so", async () => {
    const seen = await t.server.send("/v1/gateway/none/x", { method: "POST", body: "x" });
    expect(seen.status).to.equal(502);
    expect(seen.json).to.include({ mayHaveBeenCarriedOut: false });
    expect(seen.json.detail).to.contain("was not sent");
  });

  it("is handed back if its worker stops, and is not sent again", async () => {
    const prefix = uniquePrefix();
    const first = await startGateways(gateways(t.upstream.port), { KEY_PREFIX: prefix });
    t.upstream.answer("/stopped", never, never);
    const headers = { Prefer: "respond-async", "X-Request-Id": "stopped" };
    await first.send("/v1/gateway/slow/stopped", { method: "POST", body: "x", headers });
    await t.upstream.came("/stopped");
    await first.stop({ keep: true });
    const second = await startGateways(gateways(t.upstream.port), { KEY_PREFIX: prefix });
    await second.until("stopped", "failed");
    const seen = await second.send("/v1/requests/stopped");
    expect(seen.status).to.equal(502);
    expect(seen.json).to.include({ mayHaveBeenCarriedOut: true });
    expect(t.upstream.to("/stopped")).to.have.length(1);
    await second.stop();
  });
});

describe("a worker that is killed while it forwards", function () {
  this.timeout(90_000);
  const processes: ServerProcess[] = [];
  after(() => endProcesses(processes));
  const t = useGateways(gateways, { ROLE: "api" });

  const startWorker = async (): Promise<ServerProcess> => {
    const env = { HANDLERS: t.server.handlers, KEY_PREFIX: t.server.prefix, PORT: "0", ROLE: "all" };
    const started = await startProcess(env);
    processes.push(started);
    return started;
  };

  it("causes no second POST; a PUT and a POST with an Idempotency-Key are sent again", async () => {
    const worker = await startWorker();
    const kinds: Readonly<Record<string, Readonly<{ method: string; key?: string }>>> = {
      post: { method: "POST" },
      put: { method: "PUT" },
      key: { method: "POST", key: "k" },
    };
    const ids = new Map<string, string>();
    for (const [kind, { method, key }] of Object.entries(kinds)) {
      t.upstream.answer(`/killed-${kind}`, never);
      const headers = { Prefer: "respond-async", ...(key !== undefined && { "Idempotency-Key": key }) };
      const url = new URL(`/v1/gateway/slow/killed-${kind}`, worker.url);
      const sent = await exchange(url, { method, headers, body: "x" });
      expect(sent.status).to.equal(202);
      ids.set(kind, String(sent.headers["x-request-id"]));
      await t.upstream.came(`/killed-${kind}`);
    }
    await endProcesses(processes);
    await endLeases(t.server.prefix, "slow", 3);
    await startWorker();
    await t.server.until(ids.get("post") ?? "", "failed");
    const seen = await t.server.send(`/v1/requests/${ids.get("post")}`);
    expect(seen.status).to.equal(502);
    expect(seen.json).to.include({ mayHaveBeenCarriedOut: true });
    for (const kind of ["put", "key"]) await t.server.until(ids.get(kind) ?? "", "succeeded");
    const counts = Object.keys(kinds).map((kind) => t.upstream.to(`/killed-${kind}`).length);
    expect(counts).to.deep.equal([1, 2, 2]);
  });
});

describe("a 429 with Retry-After", () => {
  const t = useGateways(gateways);
  const busy = (after: string) => `HTTP/1.1 429 Busy\r\nRetry-After: ${after}\r\nContent-Length: 4\r\n\r\nbusy`;

  it("delays the next request by at least a second, even if it says 0", async () => {
    const times: number[] = [];
    const refuse: RawAnswer = (socket) => {
      times.push(performance.now());
      socket.write(busy("0"));
    };
    t.upstream.answer("/busy", refuse, refuse);
    const seen = await t.server.send("/v1/gateway/slow/busy");
    times.push(performance.now());
    expect([seen.status, seen.text]).to.deep.equal([200, "ok"]);
    const [first = 0, second = 0, third = 0] = times;
    expect(second - first).to.be.above(900);
    expect(third - second).to.be.above(1900);
    expect(t.upstream.to("/busy")).to.have.length(3);
  });

  it("does not count as an attempt, and its connection is closed without reading the body", async () => {
    const closed = new Promise<void>((resolve) => {
      t.upstream.answer("/long", (socket) => {
        socket.on("close", () => resolve());
        socket.write("HTTP/1.1 429 Busy\r\nRetry-After: 0\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nendle\r\n");
      });
    });
    const headers = { Prefer: "respond-async", "X-Request-Id": "long" };
    await t.server.send("/v1/gateway/slow/long", { headers });
    await closed;
    const done = await t.server.until("long", "succeeded");
    expect(done.json.attempt).to.equal(1);
  });

  it("is the result when the request has been put off a hundred times", async () => {
    const gateway = defineGateway({ queue: "limit", target: `http://127.0.0.1:${t.upstream.port}` });
    const kept = new Set<string>();
    const step: TaskContext["step"] = async (name, work) => {
      if (kept.has(name)) return true as never;
      kept.add(name);
      return work();
    };
    const { task } = taskContext({ step });
    const head = { method: "GET", path: "/limit", headers: {}, from: { version: "1.1" } } as const;
    const request = requestInput({ head, body: Buffer.alloc(0) }).input as never;
    const waits: number[] = [];
    t.upstream.answer("/limit", ...Array.from({ length: 101 }, () => busy("7")));
    for (let i = 0; i < 100; i += 1) {
      const thrown = await thrownBy(() => gateway.run(request, task));
      if (!isRetryLater(thrown)) throw thrown;
      waits.push(thrown.afterMs);
    }
    expect(waits.slice(0, 7)).to.deep.equal([7000, 7000, 7000, 8000, 16_000, 32_000, 60_000]);
    expect(Math.max(...waits)).to.equal(60_000);
    const answer = (await gateway.run(request, task)) as Response;
    expect([answer.status, await answer.text()]).to.deep.equal([429, "busy"]);
  });
});
