import { expect } from "chai";
import { verify } from "../../src/engine/maintenance/verify.ts";
import { createLog } from "../../src/log.ts";
import { connect } from "../../src/store/connection.ts";
import { Keys } from "../../src/store/keys.ts";
import { libraryWith, listed } from "../../src/store/library/library.ts";
import { scriptsOf } from "../../src/store/verbs/scripts.ts";
import { openEngine } from "../helpers/engine.ts";
import { startServer, type TestServer } from "../helpers/http/server.ts";
import { uniquePrefix } from "../helpers/store/run-store.ts";
import { eventually } from "../shared/eventually.ts";
import { type ClusterNode, moveSlot, slotOf, startCluster, type TestCluster } from "../shared/redis-cluster.ts";
import { startLoad, withoutResult } from "./load.ts";
import { needsRedisServer } from "./needs.ts";

const PARTITIONS = 6;

describe("a Redis Cluster under load", function () {
  this.timeout(60_000);
  let cluster: TestCluster;
  let server: TestServer | undefined;
  let keys: Keys;
  before(async function () {
    await needsRedisServer(this);
    cluster = await startCluster({ nodeTimeoutMs: 1000 });
  });
  afterEach(async () => {
    await server?.stop({ keep: true });
    server = undefined;
  });
  after(() => cluster?.stop());

  const serve = async (env: Record<string, string> = {}) => {
    const prefix = uniquePrefix();
    keys = new Keys(prefix, PARTITIONS);
    const variables = {
      REDIS_URL: cluster.url,
      PARTITIONS: String(PARTITIONS),
      KEY_PREFIX: prefix,
      LEASE: "2s",
      ...env,
    };
    server = await startServer(variables);
    return server;
  };
  const soundness = async () => {
    const redis = await connect(cluster.url, "verify", createLog("silent"));
    try {
      return await verify(redis, scriptsOf(redis), keys, { heal: true });
    } finally {
      redis.disconnect();
    }
  };
  /** An id whose task is in a partition. */
  const idIn = (partition: number): string => {
    for (let n = 0; ; n += 1) if (keys.partitionOf(`p${n}`) === partition) return `p${n}`;
  };

  it("loses no accepted task when a slot moves with all its keys, and keeps listening to it", async () => {
    const running = await serve();
    const load = startLoad(running);
    await load.more(200);
    const tag = keys.tag(0);
    const from = await cluster.ownerOf(tag);
    const to = (await cluster.masters()).find(({ id }) => id !== from.id) as ClusterNode;
    let held: Promise<{ status: number }> | undefined;
    let settled = false;
    await moveSlot(cluster.nodes, slotOf(tag), from, to, async () => {
      // While half of it has moved the partition pauses rather than split; its callers wait, those of others do not.
      held = running.post("default", { id: "held" }, { "X-Request-Id": idIn(0), Prefer: "respond-async" });
      void held.then(() => {
        settled = true;
      });
      expect((await running.post("default", 1, { "X-Request-Id": idIn(1) })).status).to.equal(200);
      // Who is before it in all partitions cannot be told now, and is not made up.
      const async = { "X-Request-Id": idIn(2), Prefer: "respond-async" };
      expect((await running.post("default", 1, async)).json).to.include({ index: null });
      expect(settled, "answered by half a partition").to.equal(false);
    });
    expect((await held)?.status).to.equal(202);
    expect((await cluster.ownerOf(tag)).id).to.equal(to.id);
    await load.more(200);
    // A synchronous caller is told of the end by a message of the shard, well before its own slow look.
    await eventually(async () => {
      const began = performance.now();
      expect((await running.post("default", 1, { "X-Request-Id": `${idIn(0)}-${began}` })).status).to.equal(200);
      return performance.now() - began < 1000;
    });
    await load.stop();
    expect(await withoutResult(running, load.accepted)).to.deep.equal([]);
    expect((await soundness()).disagreeing).to.deep.equal([]);
  });

  it("loads the library of functions where a slot moves to, and on every master that has lost it", async () => {
    const library = libraryWith({ sharded: true, strictResultTtl: false });
    const t = await openEngine({ url: cluster.url, partitions: 1 });
    try {
      expect((await t.submit()).verdict).to.equal("new");
      const tag = t.keys.tag(0);
      const from = await cluster.ownerOf(tag);
      const to = (await cluster.masters()).find(({ id }) => id !== from.id) as ClusterNode;
      await to.admin.function("FLUSH");
      await moveSlot(cluster.nodes, slotOf(tag), from, to, async () => undefined);
      expect((await t.submit()).verdict).to.equal("new");
      expect(await listed(to.admin)).to.deep.equal([library.name]);
    } finally {
      await t.close();
    }
    await Promise.all((await cluster.masters()).map(({ admin }) => admin.function("FLUSH")));
    await serve();
    for (const { admin } of await cluster.masters()) expect(await listed(admin)).to.deep.equal([library.name]);
  });

  it("continues without a master that hangs with open connections", async () => {
    const running = await serve();
    const load = startLoad(running);
    await load.more(100);
    const hung = await cluster.ownerOf(keys.tag(0));
    process.kill(hung.server.pid, "SIGSTOP");
    try {
      const others = cluster.nodes.filter((node) => node !== hung);
      await eventually(async () => (await cluster.ownerOf(keys.tag(0), others)).id !== hung.id, 20_000);
      const answer = await eventually(async () => {
        const tried = await running.post("default", 1, { "X-Request-Id": `${idIn(0)}-hung` });
        return tried.status === 200 && tried;
      });
      expect(answer).to.include({ status: 200 });
      expect((await running.send("/readyz")).status).to.equal(200);
      await load.more(200);
    } finally {
      process.kill(hung.server.pid, "SIGCONT");
    }
    await load.stop();
    expect(load.slowestMs(), "an answer within the 5 s that the API promises").to.be.below(6000);
    // It has no vote any more: it comes back as a replica, and only then is the next test's cluster whole.
    await eventually(async () => {
      const { admin } = await cluster.ownerOf(keys.tag(0));
      return /slave0:.*state=online/.test(await admin.info("replication"));
    }, 20_000);
  });

  it("loses no task accepted with DURABILITY=replica when a master is killed, and continues on its replica", async () => {
    const running = await serve({ DURABILITY: "replica" });
    const load = startLoad(running);
    await load.more(200);
    const tag = keys.tag(0);
    const killed = await cluster.ownerOf(tag);
    await killed.server.stop("SIGKILL");
    await eventually(async () => (await cluster.ownerOf(tag)).id !== killed.id, 20_000);
    // Its heir has no replica of its own until it comes back: what is accepted meanwhile is in the other shards.
    await killed.server.restart();
    await eventually(async () => {
      const { admin } = await cluster.ownerOf(tag);
      return /slave0:.*state=online/.test(await admin.info("replication"));
    }, 20_000);
    await load.more(300);
    await load.stop();
    expect(load.accepted.some((id) => keys.partitionOf(id) === 0)).to.equal(true);
    expect(await withoutResult(running, load.accepted)).to.deep.equal([]);
    expect([...load.refusals.keys()].filter((status) => status !== 503)).to.deep.equal([]);
    expect(load.slowestMs(), "an answer within the 5 s that the API promises").to.be.below(6000);
    // A partition of the killed master's tells of work again, by messages and not by slow looks.
    await eventually(async () => {
      const began = performance.now();
      const { status } = await running.post("default", 1, { "X-Request-Id": `${idIn(0)}-${began}` });
      return status === 200 && performance.now() - began < 1000;
    });
    expect((await soundness()).disagreeing).to.deep.equal([]);
  });
});
