import { expect } from "chai";
import { connectOnce } from "../../../src/store/servers/connect-once.ts";
import { BUSY_MS } from "../../helpers/busy.ts";
import { closedGate } from "../../helpers/gates.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";
import { storeKind } from "../../helpers/store/run-store.ts";
import { type StoredKind, storedKey } from "../../helpers/store/stored.ts";
import { eventually } from "../../shared/eventually.ts";
import { type PrivateRedis, startRedis } from "../../shared/redis-server.ts";

describe("health", () => {
  it("is live and ready by default", async () => {
    const server = await startServer();
    try {
      expect((await server.send("/healthz")).json).to.deep.equal({ status: "ok" });
      const ready = await server.send("/readyz");
      expect(ready.status).to.be.oneOf([200, 503]);
      if (ready.status === 200) expect(ready.json).to.deep.equal({ status: "ready", reasons: [] });
    } finally {
      await server.stop();
    }
  });

  it("is all that a worker serves on its port", async () => {
    const server = await startServer({ ROLE: "worker" });
    try {
      expect((await server.send("/healthz")).status).to.equal(200);
      expect((await server.send("/v1/queues")).json.type).to.equal("/problems/not-found");
    } finally {
      await server.stop();
    }
  });
});

describe("without its store", () => {
  let redis: PrivateRedis;
  let server: TestServer;
  before(async function () {
    if (storeKind() === "embedded") this.skip();
    redis = await startRedis();
    server = await startServer({ REDIS_URL: redis.url });
  });
  after(async () => {
    if (!redis) return;
    await redis.restart();
    await server.stop();
    await redis.stop();
  });

  it("answers 503 store-unavailable within 5 s to everything that needs it, and works again when it is back", async () => {
    const id = (await server.post("default", 1)).json.id;
    await redis.stop("SIGKILL");
    const began = performance.now();
    const answers = await Promise.all([
      server.post("default", 1),
      server.post("default", 1, { Prefer: "respond-async" }),
      server.send(`/v1/requests/${id}`),
      server.send(`/v1/requests/${id}/status`),
      server.send(`/v1/requests/${id}`, { method: "DELETE" }),
      server.send("/v1/queues"),
    ]);
    expect(performance.now() - began).to.be.below(5000 + BUSY_MS);
    for (const answer of answers) {
      expect(answer.status).to.equal(503);
      expect(answer.json).to.include({ type: "/problems/store-unavailable", status: 503 });
      expect(answer.text).to.not.contain("redis://").and.not.contain(String(redis.port));
    }
    const page = await server.send(`/v1/requests/${id}/status`, { headers: { Accept: "text/html" } });
    expect([page.status, page.headers.refresh]).to.deep.equal([503, page.headers["retry-after"]]);
    expect((await server.send("/healthz")).status).to.equal(200);
    const ready = await server.send("/readyz");
    expect(ready.status).to.equal(503);
    expect(ready.json.reasons[0]).to.contain("store");
    const gauges = async () => (await server.send("/metrics")).text;
    expect(await gauges())
      .to.match(/^paihao_ready 0$[\s\S]*^paihao_store_up 0$/m)
      .and.not.match(/^paihao_queue_tasks\{/m);
    await redis.restart();
    await eventually(async () => (await server.post("default", 2)).status === 200);
    expect(await gauges()).to.match(/^paihao_store_up 1$[\s\S]*^paihao_store_memory_used_bytes\{node="[^"]+"\} [1-9]/m);
  });

  it("answers 503 within 5 s also if the store is connected but does not answer", async () => {
    await eventually(async () => (await server.post("default", 2)).status === 200);
    process.kill(redis.pid, "SIGSTOP");
    try {
      const began = performance.now();
      const answers = await Promise.all([
        server.post("default", 1),
        server.post("default", 1, { Prefer: "respond-async" }),
        server.send("/v1/requests/abc"),
      ]);
      expect(performance.now() - began).to.be.below(5000 + BUSY_MS);
      for (const answer of answers)
        expect(answer.json).to.include({ type: "/problems/store-unavailable", status: 503 });
    } finally {
      process.kill(redis.pid, "SIGCONT");
    }
    await eventually(async () => (await server.post("default", 3)).status === 200);
  });
});

describe("with a store that is out of memory", () => {
  let redis: PrivateRedis;
  let server: TestServer;
  let admin: Awaited<ReturnType<typeof connectOnce>>;
  before(async function () {
    if (storeKind() === "embedded") this.skip();
    redis = await startRedis();
    admin = await connectOnce(redis.url);
  });
  beforeEach(async () => {
    server = await startServer({ REDIS_URL: redis.url });
  });
  afterEach(() => server.stop());
  after(async () => {
    admin?.disconnect();
    await redis?.stop();
  });

  it("answers 503 store-full to new tasks, and continues with the stored ones", async () => {
    const gate = closedGate();
    const id = await server.enqueue("gated", gate.input);
    await gate.entered;
    await admin.config("SET", "maxmemory", "1");
    try {
      for (const headers of [{}, { Prefer: "respond-async" }]) {
        const answer = await server.post("default", 1, headers);
        expect(answer.status).to.equal(503);
        expect(answer.json).to.include({ type: "/problems/store-full", status: 503 });
      }
      gate.open("drained");
      await server.until(id, "succeeded");
      expect((await server.send(`/v1/requests/${id}`)).json).to.equal("drained");
    } finally {
      await admin.config("SET", "maxmemory", "0");
    }
    expect((await server.post("default", 1)).status).to.equal(200);
  });

  it("says so in /readyz, in one event and in one line of the log, and when there is room again", async () => {
    const ready = async () => (await server.send("/readyz")).json;
    const events = async () => (await server.send("/v1/events")).json.items as { kind: string; detail?: string }[];
    const ofStore = async () => (await events()).filter(({ kind }) => kind.startsWith("store-"));
    const logged = () => server.log.filter(({ msg }) => String(msg).includes("the store is full"));
    expect(await ready()).to.deep.equal({ status: "ready", reasons: [] });
    await admin.config("SET", "maxmemory", "1");
    try {
      for (let n = 0; n < 3; n += 1)
        expect((await server.post("default", n)).json.type).to.equal("/problems/store-full");
      await eventually(async () => /: 3 submissions refused in \d+ s$/.test(String((await ready()).reasons)));
      expect((await ready()).status).to.equal("degraded");
      expect((await server.send("/readyz")).status).to.equal(200);
      expect((await ofStore()).map(({ kind }) => kind)).to.deep.equal(["store-full"]);
      await eventually(() => logged().length > 0);
      expect(logged().map(({ level }) => level)).to.deep.equal([40]);
      const [incident] = (await server.send("/v1/incidents")).json.items;
      expect(incident).to.include({ kind: "store-full", level: "red", queue: null });
      expect(incident.text).to.match(/^the store is full: 3 submissions refused in /);
      // As if it had refused nothing for a while: as long as it has no room, it is full.
      const key = (kind: StoredKind) => storedKey(`{${server.prefix}:0}`, kind);
      const forget = "#!lua flags=allow-oom\nreturn redis.call('HSET', KEYS[1], 'latest', 1)";
      await admin.eval(forget, 1, key("refusals"));
      const looked = () => admin.hget(key("states"), "looked");
      const before = await looked();
      await eventually(async () => (await looked()) !== before);
      expect((await ready()).status).to.equal("degraded");
    } finally {
      await admin.config("SET", "maxmemory", "0");
    }
    await eventually(async () => (await ready()).status === "ready");
    expect((await ofStore()).map(({ kind }) => kind)).to.deep.equal(["store-drained", "store-full"]);
    await eventually(() => logged().length > 1);
    expect(logged().map(({ level }) => level)).to.deep.equal([40, 40]);
  });
});
