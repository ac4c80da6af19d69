import { expect } from "chai";
import type { Redis } from "ioredis";
import { connectOnce } from "../../../src/store/servers/connect-once.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";
import { storeKind } from "../../helpers/store/run-store.ts";
import { keepFromSaving } from "../../helpers/store/unsaved.ts";
import { eventually } from "../../shared/eventually.ts";
import { type PrivateRedis, startRedis } from "../../shared/redis-server.ts";

describe("a store that answers, but refuses writes", function () {
  this.timeout(30_000);
  let redis: PrivateRedis;
  let admin: Redis;
  let server: TestServer | undefined;
  before(async function () {
    if (storeKind() === "embedded") this.skip();
    redis = await startRedis();
    admin = (await connectOnce(redis.url)) as Redis;
  });
  afterEach(async () => {
    await server?.stop();
    server = undefined;
  });
  after(async () => {
    admin?.disconnect();
    await redis?.stop("SIGKILL");
  });

  const start = async (env: Readonly<Record<string, string>> = {}) => {
    server = await startServer({ REDIS_URL: redis.url, ...env });
    return server;
  };
  const reasons = async (on: TestServer) => (await on.send("/readyz")).json.reasons as string[];
  const notReady = (on: TestServer) =>
    eventually(async () => (await reasons(on)).length > 0 && (await reasons(on)).join()) as Promise<string>;
  const ready = (on: TestServer) => eventually(async () => (await on.send("/readyz")).status === 200);
  const metrics = async (on: TestServer) => (await on.send("/metrics")).text;

  it("makes the server unready while its disk cannot be written, and ready again by itself", async () => {
    const on = await start();
    await ready(on);
    expect(await metrics(on)).to.match(
      /^paihao_store_writable 1$[\s\S]*^paihao_store_persistence_ok\{node="[^"]+"\} 1$/m,
    );
    const heal = await keepFromSaving(admin, redis.dir);
    expect((await on.post("default", 1)).json).to.include({ type: "/problems/store-unavailable", status: 503 });
    expect(await notReady(on)).to.match(/^the store refuses writes: it cannot save to its disk/);
    const text = await metrics(on);
    expect(text).to.match(/^paihao_store_up 1$[\s\S]*^paihao_store_writable 0$/m);
    expect(text).to.match(/^paihao_store_persistence_ok\{node="[^"]+"\} 0$/m);
    expect(text).to.match(/^paihao_submissions_total\{queue="default",verdict="store-unavailable"\} 1$/m);

    await heal();
    await ready(on);
    expect((await on.post("default", 1)).status).to.equal(200);
    expect(await metrics(on)).to.match(/^paihao_store_writable 1$/m);
  });

  it("makes it unready while it has too few replicas for min-replicas-to-write", async () => {
    const on = await start();
    await admin.config("SET", "min-replicas-to-write", "1");
    expect(await notReady(on)).to.match(/^the store refuses writes: .*min-replicas-to-write/);
    await admin.config("SET", "min-replicas-to-write", "0");
    await ready(on);
  });

  it("makes it unready while no replica can confirm DURABILITY=replica; but not a worker, which accepts nothing", async () => {
    const on = await start({ DURABILITY: "replica" });
    expect(await notReady(on)).to.match(/^DURABILITY is replica, but .* no replica/);
    expect(await metrics(on)).to.match(/^paihao_store_replicas\{node="[^"]+"\} 0$/m);
    const worker = await startServer({ REDIS_URL: redis.url, DURABILITY: "replica", ROLE: "worker" });
    try {
      expect(await reasons(worker)).to.deep.equal([]);
    } finally {
      await worker.stop();
    }
    const replica = await startRedis({
      args: ["--replicaof", "127.0.0.1", String(redis.port), "--repl-diskless-sync-delay", "0"],
    });
    try {
      await ready(on);
      expect(await metrics(on)).to.match(/^paihao_store_replicas\{node="[^"]+"\} 1$/m);
      expect((await on.post("default", 1)).status).to.equal(200);
    } finally {
      await replica.stop("SIGKILL");
    }
  });
});

describe("a full queue", () => {
  it("leaves the server ready, since others have room, and counts what it refuses", async () => {
    const server = await startServer({ MAX_WAITING: "1", ROLE: "api" });
    try {
      const submit = () => server.post("default", 1, { Prefer: "respond-async" });
      expect((await submit()).status).to.equal(202);
      expect((await submit()).json.type).to.equal("/problems/queue-full");
      expect((await server.send("/readyz")).json.reasons).to.deep.equal([]);
      expect((await server.send("/metrics")).text).to.match(
        /^paihao_submissions_total\{queue="default",verdict="full"\} 1$/m,
      );
    } finally {
      await server.stop();
    }
  });
});
