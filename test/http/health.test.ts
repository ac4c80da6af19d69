import { expect } from "chai";
import { eventually } from "../helpers/eventually.ts";
import { closedGate } from "../helpers/gates.ts";
import { startServer, type TestServer } from "../helpers/server.ts";
import { type PrivateRedis, startRedis, storeKind } from "../helpers/store.ts";

describe("health", () => {
  it("is live and ready while all is well", async () => {
    const server = await startServer();
    try {
      expect((await server.send("/healthz")).json).to.deep.equal({ status: "ok" });
      const ready = await server.send("/readyz");
      expect(ready.status).to.be.oneOf([200, 503]);
      if (ready.status === 200) expect(ready.json).to.deep.equal({ status: "ready", reasons: [] });
      expect(ready.headers["cache-control"]).to.equal("no-store");
    } finally {
      await server.stop();
    }
  });

  it("is all that a worker with a port shows", async () => {
    const server = await startServer({ ROLE: "worker" });
    try {
      expect((await server.send("/healthz")).status).to.equal(200);
      expect((await server.send("/v1/queues")).json.type).to.equal("/problems/not-found");
    } finally {
      await server.stop();
    }
  });

  it("lets a held caller go when the server stops", async () => {
    const server = await startServer({ ROLE: "api" });
    const gate = closedGate();
    const held = server.post("gated", gate.input, { "X-Request-Id": "held" });
    await eventually(async () => (await server.send("/v1/requests/held")).json.state === "waiting");
    await server.stop();
    expect((await held).json).to.include({ type: "/problems/sync-timeout", id: "held" });
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
    await redis.restart().catch(() => undefined);
    await server.stop();
    await redis.stop();
  });

  it("answers 503 store-unavailable within 5 s to everything that needs it, lives on, and serves when it is back", async function () {
    this.timeout(30_000);
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
    expect(performance.now() - began).to.be.below(5000);
    for (const answer of answers) {
      expect(answer.status).to.equal(503);
      expect(answer.json).to.include({ type: "/problems/store-unavailable", status: 503 });
      expect(answer.headers["retry-after"]).to.match(/^[1-9]\d*$/);
      expect(answer.text).to.not.contain("redis://").and.not.contain(String(redis.port));
    }
    expect((await server.send("/healthz")).status).to.equal(200);
    const ready = await server.send("/readyz");
    expect(ready.status).to.equal(503);
    expect(ready.json.reasons[0]).to.contain("store");
    await redis.restart();
    await eventually(async () => (await server.post("default", 2)).status === 200);
  });

  it("answers 503 within 5 s also when the store is there but does not answer", async function () {
    this.timeout(40_000);
    await eventually(async () => (await server.post("default", 2)).status === 200);
    process.kill(redis.pid, "SIGSTOP");
    try {
      const began = performance.now();
      const answers = await Promise.all([
        server.post("default", 1),
        server.post("default", 1, { Prefer: "respond-async" }),
        server.send("/v1/requests/abc"),
      ]);
      expect(performance.now() - began).to.be.below(5000);
      for (const answer of answers)
        expect(answer.json).to.include({ type: "/problems/store-unavailable", status: 503 });
    } finally {
      process.kill(redis.pid, "SIGCONT");
    }
    await eventually(async () => (await server.post("default", 3)).status === 200);
  });
});
