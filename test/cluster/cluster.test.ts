import { expect } from "chai";
import { verify } from "../../src/engine/maintenance/verify.ts";
import { openEngine } from "../helpers/engine.ts";
import { closedGate } from "../helpers/gates.ts";
import { verdictsOf } from "../helpers/http/batch.ts";
import { startServer, type TestServer } from "../helpers/http/server.ts";
import { expectStartError } from "../helpers/start-error.ts";
import { uniquePrefix } from "../helpers/store/run-store.ts";
import { startCluster, type TestCluster } from "../shared/redis-cluster.ts";
import { needsRedisServer } from "./needs.ts";

const PARTITIONS = 6;

describe("a Redis Cluster of three masters", () => {
  let cluster: TestCluster;
  before(async function () {
    await needsRedisServer(this);
    cluster = await startCluster();
  });
  after(() => cluster?.stop());

  const serve = (env: Record<string, string> = {}) =>
    startServer({ REDIS_URL: cluster.url, PARTITIONS: String(PARTITIONS), ...env });

  it("runs tasks over HTTP from submission to result in every partition", async () => {
    const server = await serve();
    try {
      const answers = await Promise.all(
        Array.from({ length: 60 }, (_, n) => server.post("default", { n }, { "X-Request-Id": `life-${n}` })),
      );
      for (const [n, { status, json }] of answers.entries()) {
        expect(status).to.equal(200);
        expect(json)
          .to.include({ id: `life-${n}` })
          .and.to.deep.include({ input: { n } });
      }
      const id = await server.enqueue("failing", 1);
      expect((await server.until(id, "failed")).status).to.equal(200);
      const dead = (await server.send("/v1/queues/failing/dead")).json;
      expect(JSON.stringify(dead)).to.contain(id);
    } finally {
      await server.stop();
    }
  });

  it("counts the tasks of groups in every partition, and gives all their results", async () => {
    const server = await serve();
    const path = (n: number) => `/v1/groups/group-${n}`;
    try {
      const groups = Array.from({ length: PARTITIONS * 2 }, (_, n) => n);
      const sent = groups.map((n) =>
        server.send(`/v1/queues/default/batches?group=group-${n}&envelope=true`, {
          method: "POST",
          headers: { "Content-Type": "application/x-ndjson" },
          // Half of the ids belong to any partition.
          body: [{ input: 0 }, { id: `of-${n}`, input: 1 }, { input: 2 }, { id: `of-${n}-too`, input: 3 }]
            .map((line) => JSON.stringify(line))
            .join("\n"),
        }),
      );
      for (const { status } of await Promise.all(sent)) expect(status).to.equal(202);
      for (const n of groups) {
        const lines = verdictsOf((await server.send(`${path(n)}/results?follow=true`)).text);
        expect(lines.map(({ data }) => data.input)).to.deep.equal([0, 1, 2, 3]);
        expect((await server.send(path(n))).json).to.include({ state: "done", total: 4, succeeded: 4 });
        expect((await server.send(`/v1/requests/of-${n}`)).status).to.equal(200);
      }
    } finally {
      await server.stop();
    }
  });

  it("reports the true place of every task, in whatever partition", async () => {
    const server = await serve();
    const gate = closedGate();
    try {
      const first = await server.enqueue("gated", gate.input);
      await gate.entered;
      const ids: string[] = [];
      for (let n = 0; n < 30; n += 1) ids.push(await server.enqueue("gated", { gate: gate.name }));
      const seen = await Promise.all(ids.map(async (id) => (await server.send(`/v1/requests/${id}/status`)).json));
      expect(seen.map(({ index }) => index)).to.deep.equal(ids.map((_, n) => n));
      expect(new Set(seen.map(({ ahead }, n) => ahead - n))).to.deep.equal(new Set([1]));
      await server.send(`/v1/requests/${ids[0]}`, { method: "DELETE" });
      expect((await server.send(`/v1/requests/${ids[29]}/status`)).json.index).to.equal(28);
      gate.open();
      await server.until(first, "succeeded");
    } finally {
      gate.open();
      await server.stop();
    }
  });

  it("gives every task its own place, although each partition has its own clock", async () => {
    const t = await openEngine({ url: cluster.url, partitions: PARTITIONS });
    try {
      const ids = Array.from({ length: 600 }, (_, n) => `tie${n}`);
      const verdicts = await Promise.all(ids.map((id) => t.submit({ id })));
      expect(new Set(verdicts.map(({ verdict }) => verdict))).to.deep.equal(new Set(["new"]));
      // Two that were submitted at the same instant in two partitions have the same score: it is forced here.
      const score = String(3 * 2 ** 45 + 2 ** 44);
      for (const id of ids.slice(0, 50)) {
        await t.redis.zadd(t.keys.index(t.keys.tag(t.keys.partitionOf(id)), "waiting", "jobs"), score, id);
      }
      const seen = await Promise.all(ids.map((id) => t.engine.tasks.inspect(id, { result: false })));
      const places = seen.map((one) => one?.index ?? -1);
      // Within a partition ties are told apart by id; over all of them, every place is taken once.
      expect([...places].sort((a, b) => a - b)).to.deep.equal(ids.map((_, n) => n));
    } finally {
      await t.close();
    }
  });

  it("reports a running task with index 0, also when it is submitted again", async () => {
    const t = await openEngine({ url: cluster.url, partitions: PARTITIONS });
    try {
      const id = Array.from({ length: 99 }, (_, n) => `r${n}`).find((one) => t.keys.partitionOf(one) === 0);
      await t.submit({ id: id ?? "" });
      expect(await t.reserve(1)).to.have.lengthOf(1);
      for (let n = 0; n < 12; n += 1) await t.submit({ id: `behind${n}` });
      expect(await t.submit({ id: id ?? "" })).to.include({ verdict: "replay", state: "running", index: 0 });
    } finally {
      await t.close();
    }
  });

  it("counts all partitions when it refuses a line that is too long", async () => {
    const t = await openEngine({ url: cluster.url, partitions: PARTITIONS });
    try {
      for (let n = 0; n < 12; n += 1) await t.submit({ id: `long${n}` });
      expect(await t.submit({ id: "refused", maxIndex: 11 })).to.include({ verdict: "long", index: 12 });
      expect(await t.engine.tasks.inspect("refused", { result: false })).to.equal(null);
      expect(await t.submit({ id: "urgent", maxIndex: 0, priority: 0 })).to.include({ verdict: "new", index: 0 });
      expect(await t.submit({ id: "accepted", maxIndex: 13 })).to.include({ verdict: "new", index: 13 });
    } finally {
      await t.close();
    }
  });

  it("accepts a batch over all partitions, gives each task its own place, and verifies them all", async () => {
    const server = await serve();
    const gate = closedGate();
    try {
      await server.enqueue("gated", gate.input);
      await gate.entered;
      const lines = Array.from({ length: 250 }, () => JSON.stringify(gate.input));
      const batch = await server.send("/v1/queues/gated/batches", {
        method: "POST",
        headers: { "Content-Type": "application/x-ndjson" },
        body: lines.join("\n"),
      });
      expect(batch.status).to.equal(202);
      const ids = verdictsOf(batch.text).map(({ id }) => String(id));
      expect(ids).to.have.lengthOf(250);
      const seen = await Promise.all(ids.map(async (id) => (await server.send(`/v1/requests/${id}/status`)).json));
      const places = seen.map(({ index }) => index as number).sort((x, y) => x - y);
      expect(places, "every place once").to.deep.equal(lines.map((_, n) => n));
      const queue = (await server.send("/v1/queues/gated")).json;
      expect(queue).to.include({ waiting: 250 });
      gate.open();
      await Promise.all(ids.map((id) => server.until(id, "succeeded")));
    } finally {
      gate.open();
      await server.stop();
    }
    const t = await openEngine({ url: cluster.url, partitions: PARTITIONS });
    try {
      await Promise.all(Array.from({ length: 300 }, (_, n) => t.submit({ id: `a${n}` })));
      const report = await verify(t.redis, t.scripts, t.keys, { heal: false });
      expect(report).to.deep.equal({ tasks: 300, entries: 300, disagreeing: [] });
    } finally {
      await t.close();
    }
  });

  it("announces work and outcomes at once, with messages that stay within a shard", async () => {
    const t = await openEngine({ url: cluster.url, partitions: PARTITIONS });
    try {
      const heard: string[] = [];
      const channels = t.keys.tags.map((_, p) => t.keys.workChannel(p, "jobs"));
      const stops = await Promise.all(
        channels.map((channel) => t.engine.pubsub.listen(channel, () => heard.push(channel))),
      );
      await Promise.all(Array.from({ length: 60 }, (_, n) => t.submit({ id: `n${n}` })));
      expect(new Set(heard)).to.deep.equal(new Set(channels));
      for (const { admin } of await cluster.masters()) {
        expect(Number(await admin.call("PUBSUB", "NUMPAT")), "messages for the whole cluster").to.equal(0);
        expect(await admin.call("PUBSUB", "CHANNELS", `{${t.keys.prefix}*`)).to.deep.equal([]);
      }
      for (const stop of stops) stop();
    } finally {
      await t.close();
    }
  });

  it("is distinguished from a single Redis, both ways", async () => {
    const [node] = cluster.nodes;
    await expectStartError(
      startServer({ REDIS_URL: `redis://127.0.0.1:${node?.server.port}` }),
      "is a node of a Redis Cluster; use redis+cluster://",
    );
    const refused = expectStartError(serve({ KEY_PREFIX: "other", DURABILITY: "fsync" }), /version 7\.0|append-only/);
    await refused;
  });

  it("refuses a number of partitions other than at first use", async () => {
    const prefix = uniquePrefix();
    const server: TestServer = await serve({ KEY_PREFIX: prefix });
    try {
      await expectStartError(serve({ KEY_PREFIX: prefix, PARTITIONS: "3" }), "PARTITIONS is 3");
    } finally {
      await server.stop();
    }
  });
});
