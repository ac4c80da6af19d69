import { expect } from "chai";
import { defineTurns } from "../../src/handler/turns.ts";
import { Keys } from "../../src/store/keys.ts";
import { startServer, type TestServer } from "../helpers/http/server.ts";
import { uniquePrefix } from "../helpers/store/run-store.ts";
import { eventually } from "../shared/eventually.ts";
import { type ClusterNode, moveSlot, slotOf, startCluster, type TestCluster } from "../shared/redis-cluster.ts";
import { Caller } from "../world/turns/caller.ts";
import { Resource } from "../world/turns/resource.ts";
import { needsRedisServer } from "./needs.ts";

const PARTITIONS = 6;

describe("turns in a Redis Cluster", function () {
  this.timeout(90_000);
  let cluster: TestCluster;
  let server: TestServer;
  let tag: string;
  let resource: Resource;
  const callers: Caller[] = [];
  before(async function () {
    await needsRedisServer(this);
    cluster = await startCluster({ nodeTimeoutMs: 1000 });
  });
  beforeEach(async () => {
    const prefix = uniquePrefix();
    tag = new Keys(prefix, PARTITIONS).tagOfQueue("gpu");
    resource = new Resource();
    const env = { REDIS_URL: cluster.url, PARTITIONS: String(PARTITIONS), KEY_PREFIX: prefix, DURABILITY: "replica" };
    server = await startServer(env, { handlers: new Map([["gpu", defineTurns({ queue: "gpu" })]]) });
  });
  afterEach(async () => {
    await Promise.all(callers.splice(0).map((caller) => caller.stop()));
    await server?.stop({ keep: true });
  });
  after(() => cluster?.stop());

  /** One who holds the turn, and two in line. */
  const line = async () => {
    const submit = async () => {
      const caller = await Caller.submit(server.send, resource, "?presence=60");
      callers.push(caller);
      return caller;
    };
    const three = [await submit(), await submit(), await submit()] as const;
    await three[0].until("running");
    return three;
  };
  const expectEachInTurn = async (...all: Caller[]) => {
    for (const caller of all) {
      await caller.until("running");
      expect((await eventually(() => caller.done())).json).to.include({ state: "succeeded" });
    }
    const fences = all.map((caller) => [...caller.fences]);
    expect(fences.map(({ length }) => length)).to.deep.equal([1, 1, 1]);
    expect([resource.most, resource.refused]).to.deep.equal([1, []]);
  };

  it("go on, in their order, while their partition moves to another master", async () => {
    const all = await line();
    const from = await cluster.ownerOf(tag);
    const to = (await cluster.masters()).find(({ id }) => id !== from.id) as ClusterNode;
    await moveSlot(cluster.nodes, slotOf(tag), from, to, async () => undefined);
    expect((await cluster.ownerOf(tag)).id).to.equal(to.id);
    await all[0].look();
    await expectEachInTurn(...all);
  });

  it("go on, in their order, when the master of their partition is killed", async () => {
    const all = await line();
    const killed = await cluster.ownerOf(tag);
    await killed.server.stop("SIGKILL");
    await eventually(async () => (await cluster.ownerOf(tag)).id !== killed.id, 20_000);
    await all[0].look();
    await expectEachInTurn(...all);
  });
});
