import { expect } from "chai";
import { PARTS } from "../../src/extras/extras.ts";
import { taskIdOf } from "../../src/extras/schedules/definition.ts";
import { Keys } from "../../src/store/keys.ts";
import { libraryWith, listed } from "../../src/store/library/library.ts";
import { openEngine } from "../helpers/engine.ts";
import { startServer, type TestServer } from "../helpers/http/server.ts";
import { uniquePrefix } from "../helpers/store/run-store.ts";
import { eventually } from "../shared/eventually.ts";
import { type ClusterNode, moveSlot, slotOf, startCluster, type TestCluster } from "../shared/redis-cluster.ts";
import { startLoad } from "./load.ts";
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

  /** The tag of the queue under load. */
  const home = () => keys.tagOfQueue("default");
  const serve = async (env: Record<string, string> = {}, prefix = uniquePrefix()) => {
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

  it("loads the library of functions where a slot moves to, and on every master that has lost it", async () => {
    const library = libraryWith({ sharded: true, strictResultTtl: false, parts: PARTS });
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
    const hung = await cluster.ownerOf(home());
    process.kill(hung.server.pid, "SIGSTOP");
    try {
      const others = cluster.nodes.filter((node) => node !== hung);
      await eventually(async () => (await cluster.ownerOf(home(), others)).id !== hung.id, 20_000);
      const answer = await eventually(async () => {
        const tried = await running.post("default", 1);
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
      const { admin } = await cluster.ownerOf(home());
      return /slave0:.*state=online/.test(await admin.info("replication"));
    }, 20_000);
  });

  it("submits each due time of a schedule once when the master of the schedules is killed", async function () {
    this.timeout(120_000);
    // Its last writes may be lost with it: the tasks are elsewhere.
    let killed: ClusterNode;
    do {
      keys = new Keys(uniquePrefix(), PARTITIONS);
      killed = await cluster.ownerOf(keys.tag(0));
    } while ((await cluster.ownerOf(keys.tagOfQueue("gated"))).id === killed.id);
    const running = await serve({}, keys.prefix);
    await running.send("/v1/queues/gated/pause", { method: "POST" });
    const body = { queue: "gated", input: 1, every: "1s", missed: "all" };
    expect((await running.send("/v1/schedules/often", { method: "PUT", body })).status).to.equal(201);
    const waiting = async (count: number): Promise<string[]> => {
      const { json } = await running.send("/v1/queues/gated/waiting?limit=200");
      expect(json.items).to.have.length.of.at.least(count);
      return json.items.map(({ id }: { id: string }) => id);
    };
    await eventually(() => waiting(2));
    await killed.server.stop("SIGKILL");
    await eventually(async () => (await cluster.ownerOf(keys.tag(0))).id !== killed.id, 20_000);
    const before = await waiting(2);
    const ids = await eventually(() => waiting(before.length + 4));
    const firstMs = Date.parse(ids[0]?.replace(/^often~(....)(..)(..)T(..)(..)(..)Z$/, "$1-$2-$3T$4:$5:$6Z") ?? "");
    expect(ids).to.deep.equal(ids.map((_, n) => taskIdOf("often", firstMs + n * 1000)));
  });
});
