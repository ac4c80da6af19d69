import { expect } from "chai";
import { verify } from "../../src/engine/upkeep/verify.ts";
import { createLog } from "../../src/log.ts";
import { connect } from "../../src/store/connection.ts";
import { Keys } from "../../src/store/keys.ts";
import { scriptsOf } from "../../src/store/library/scripts.ts";
import { exchange, type TestServer } from "../helpers/http/server.ts";
import { endProcesses, startProcess } from "../helpers/server-process.ts";
import { uniquePrefix } from "../helpers/store/run-store.ts";
import { eventually } from "../shared/eventually.ts";
import { type ClusterNode, moveSlot, slotOf, startCluster, type TestCluster } from "../shared/redis-cluster.ts";
import { startLoad, withoutResult } from "./load.ts";
import { needsRedisServer } from "./needs.ts";

const PARTITIONS = 6;
const HANDLERS = new URL("../fixtures/handlers/twelve", import.meta.url).pathname;
const QUEUES = Array.from({ length: 12 }, (_, n) => `queue-${n}`);

describe("twelve queues in six partitions on three masters", function () {
  this.timeout(90_000);
  let cluster: TestCluster;
  let keys: Keys;
  /** Accepts tasks and runs them, in a process of its own. */
  let server: Pick<TestServer, "send">;
  let end: () => Promise<void>;
  before(async function () {
    await needsRedisServer(this);
    cluster = await startCluster({ nodeTimeoutMs: 1000 });
  });
  after(() => cluster?.stop());
  afterEach(() => end());

  const serve = async (env: Record<string, string> = {}) => {
    keys = await evenKeys();
    const running = await startProcess({
      ...{ REDIS_URL: cluster.url, PARTITIONS: String(PARTITIONS), KEY_PREFIX: keys.prefix, PORT: "0" },
      ...{ HANDLERS, LEASE: "2s", ...env },
    });
    server = { send: (path, sent) => exchange(new URL(path, running.url), sent) };
    end = () => endProcesses([running]);
  };
  /** With a prefix by which each master has two partitions: their slots are chosen by a hash. */
  const evenKeys = async (): Promise<Keys> => {
    for (;;) {
      const of = new Keys(uniquePrefix(), PARTITIONS);
      const owners = await Promise.all(of.tags.map((tag) => cluster.ownerOf(tag)));
      if ((await cluster.masters()).every((master) => owners.filter((owner) => owner === master).length === 2))
        return of;
    }
  };
  const tagOf = (queue: string) => keys.tagOfQueue(queue);
  /** The queues in the partition of the first, and the others. */
  const split = () => {
    const [first = ""] = QUEUES;
    const here = QUEUES.filter((queue) => tagOf(queue) === tagOf(first));
    return { tag: tagOf(first), here, others: QUEUES.filter((queue) => !here.includes(queue)) };
  };
  const disagreeing = async () => {
    const redis = await connect(cluster.url, "verify", createLog("silent"));
    try {
      return (await verify(redis, scriptsOf(redis), keys, { heal: true })).disagreeing;
    } finally {
      redis.disconnect();
    }
  };
  /** How many records of tasks a node has. */
  const tasksOn = async ({ admin }: ClusterNode): Promise<number> => {
    let [cursor, count] = ["0", 0];
    do {
      const [next, found] = await admin.scan(cursor, "MATCH", `{${keys.prefix}:?}t:*`, "COUNT", 1000);
      [cursor, count] = [next, count + found.length];
    } while (cursor !== "0");
    return count;
  };
  /** A synchronous caller is told of the end by a message of the shard, well before its own slow look. */
  const isTold = (queue: string) =>
    eventually(async () => {
      const began = performance.now();
      const { status } = await server.send(`/v1/queues/${queue}/requests`, { method: "POST", body: 1 });
      return status === 200 && performance.now() - began < 1000;
    });

  it("spread their tasks over the masters", async () => {
    await serve();
    const load = startLoad(server, { clients: QUEUES.length, queues: QUEUES, madeIds: true });
    await load.more(50, QUEUES);
    await load.stop();
    expect(await withoutResult(server, load)).to.deep.equal([]);
    const counts = await Promise.all((await cluster.masters()).map(tasksOn));
    const total = counts.reduce((sum, count) => sum + count, 0);
    // No pointers: the ids lead to the partitions of the queues.
    expect(total).to.equal(load.accepted.size);
    for (const count of counts) expect(count).to.be.within(0.2 * total, 0.5 * total);
    const { json } = await server.send("/v1/queues");
    expect(json.items.map(({ name }: { name: string }) => name)).to.include.members(QUEUES);
  });

  it("pause only where a slot moves, with all its keys, and lose no accepted task", async () => {
    await serve();
    const load = startLoad(server, { clients: QUEUES.length, queues: QUEUES, madeIds: true });
    await load.more(20, QUEUES);
    const { tag, here, others } = split();
    const from = await cluster.ownerOf(tag);
    const to = (await cluster.masters()).find(({ id }) => id !== from.id) as ClusterNode;
    await moveSlot(cluster.nodes, slotOf(tag), from, to, async () => {
      // What was in flight has been answered by now, but for the requests that wait for the partition.
      await load.more(5, others);
      const paused = here.map((queue) => load.count(queue));
      await load.more(20, others);
      expect(
        here.map((queue) => load.count(queue)),
        "accepted by half a partition",
      ).to.deep.equal(paused);
    });
    expect((await cluster.ownerOf(tag)).id).to.equal(to.id);
    await load.more(20, QUEUES);
    for (const queue of here) await isTold(queue);
    await load.stop();
    expect(await withoutResult(server, load)).to.deep.equal([]);
    expect(await disagreeing()).to.deep.equal([]);
  });

  it("lose no task accepted with DURABILITY=replica when a master is killed, and continue on its replica", async () => {
    await serve({ DURABILITY: "replica" });
    const { tag, here } = split();
    // Ids that callers chose lead to all partitions, so that pointers are lost and found as well.
    const loads = [true, false].map((madeIds) =>
      startLoad(server, { clients: QUEUES.length, queues: QUEUES, madeIds }),
    );
    await Promise.all(loads.map((load) => load.more(10, QUEUES)));
    const killed = await cluster.ownerOf(tag);
    await killed.server.stop("SIGKILL");
    await eventually(async () => (await cluster.ownerOf(tag)).id !== killed.id, 20_000);
    // Its heir has no replica of its own until it comes back: what is accepted meanwhile is in the other shards.
    await killed.server.restart();
    await eventually(async () => {
      const { admin } = await cluster.ownerOf(tag);
      return /slave0:.*state=online/.test(await admin.info("replication"));
    }, 20_000);
    await Promise.all(loads.map((load) => load.more(10, QUEUES)));
    for (const queue of here) await isTold(queue);
    for (const load of loads) {
      await load.stop();
      expect(await withoutResult(server, load)).to.deep.equal([]);
      expect([...load.refusals.keys()].filter((status) => status !== 503)).to.deep.equal([]);
      expect(load.slowestMs(), "an answer within the 5 s that the API promises").to.be.below(6000);
    }
    expect(await disagreeing()).to.deep.equal([]);
  });
});
