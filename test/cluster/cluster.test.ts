import { expect } from "chai";
import { verify } from "../../src/engine/upkeep/verify.ts";
import { openEngine } from "../helpers/engine.ts";
import { verdictsOf } from "../helpers/http/batch.ts";
import { startServer, type TestServer } from "../helpers/http/server.ts";
import { expectStartError } from "../helpers/start-error.ts";
import { uniquePrefix } from "../helpers/store/run-store.ts";
import { eventually } from "../shared/eventually.ts";
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

  it("runs tasks over HTTP from submission to result, whatever partition their ids lead to", async () => {
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

  it("counts the tasks of groups, whatever partition their ids lead to, and gives all their results", async () => {
    const server = await serve();
    const path = (n: number) => `/v1/groups/group-${n}`;
    try {
      const groups = Array.from({ length: PARTITIONS * 2 }, (_, n) => n);
      const sent = groups.map((n) =>
        server.send(`/v1/queues/default/batches?group=group-${n}&envelope=true`, {
          method: "POST",
          headers: { "Content-Type": "application/x-ndjson" },
          // Half of the ids lead to any partition.
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

  it("verifies the tasks of all partitions, and the pointers to them", async () => {
    const t = await openEngine({ url: cluster.url, partitions: PARTITIONS });
    try {
      await Promise.all(Array.from({ length: 300 }, (_, n) => t.submit({ id: `a${n}`, queue: `queue-${n % 12}` })));
      const report = await verify(t.redis, t.scripts, t.keys, { heal: false });
      expect(report).to.deep.equal({ tasks: 300, entries: 300, disagreeing: [] });
    } finally {
      await t.close();
    }
  });

  it("announces work and outcomes at once, with messages that stay within a shard", async () => {
    const t = await openEngine({ url: cluster.url, partitions: PARTITIONS });
    try {
      let heard = 0;
      const channel = t.keys.workChannel(t.keys.partitionOfQueue("jobs"), "jobs");
      const stop = await t.engine.pubsub.listen(channel, () => {
        heard += 1;
      });
      await t.submit();
      await eventually(() => heard === 1);
      for (const { admin } of await cluster.masters()) {
        expect(Number(await admin.call("PUBSUB", "NUMPAT")), "messages for the whole cluster").to.equal(0);
        expect(await admin.call("PUBSUB", "CHANNELS", `{${t.keys.prefix}*`)).to.deep.equal([]);
      }
      stop();
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
