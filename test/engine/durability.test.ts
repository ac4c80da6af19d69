import { expect } from "chai";
import { readConfig } from "../../src/config/config.ts";
import { type OpenedEngine, openEngine } from "../../src/engine/upkeep/boot.ts";
import { defineHandler } from "../../src/handler/define.ts";
import { createLog } from "../../src/log.ts";
import { type Connection, connect } from "../../src/store/connection.ts";
import { findServerBinary } from "../../src/store/servers/native/server-binary.ts";
import { uniquePrefix } from "../helpers/store/run-store.ts";
import { eventually } from "../shared/eventually.ts";
import { type PrivateRedis, startRedis } from "../shared/redis-server.ts";
import { submissionOf } from "../shared/submission.ts";

const handler = defineHandler({ queue: "jobs", run: () => undefined });

const submission = (id: string) => submissionOf(id, "jobs", "1");

describe("durability", () => {
  let master: PrivateRedis;
  let replica: PrivateRedis;
  let admin: Connection;
  let opened: OpenedEngine | undefined;

  before(async function () {
    if ((await findServerBinary(createLog("silent"))).binary === undefined) return this.skip();
    master = await startRedis();
    replica = await startRedis({ args: ["--replicaof", "127.0.0.1", String(master.port)] });
    admin = await connect(master.url, "admin", createLog("silent"));
  });
  afterEach(() => opened?.close());
  after(async () => {
    admin?.disconnect();
    await replica?.stop();
    await master?.stop();
  });

  const open = async (durability: string) => {
    const config = readConfig({ REDIS_URL: master.url, DURABILITY: durability, KEY_PREFIX: uniquePrefix() });
    opened = await openEngine(config, master.url, [handler], createLog("silent"));
    return opened.engine;
  };
  const replicated = () => eventually(async () => /slave0:.*state=online/.test(await admin.info("replication")));

  it("refuses fsync on a Redis that cannot confirm it", async () => {
    const error = await open("fsync").then(
      () => null,
      (thrown: unknown) => thrown as Error,
    );
    expect(error?.message).to.match(/^DURABILITY is fsync, but the store has version \d.*expected 7\.2 or later/);
  });

  it("is confirmed once a replica has the task, and reported as missed otherwise, with one WAIT for all", async () => {
    const engine = await open("replica");
    await replicated();
    const waits = async () => Number(/cmdstat_wait:calls=(\d+)/.exec(await admin.info("commandstats"))?.[1]);
    // The start has tried the command.
    const before = await waits();
    const many = await Promise.all(
      Array.from({ length: 250 }, (_, n) =>
        engine.submitter.submit(submission(`a${n}`), engine.queues.settings("jobs")),
      ),
    );
    expect(new Set(many.map((v) => `${v.verdict} ${v.durable}`))).to.deep.equal(new Set(["new true"]));
    expect((await waits()) - before, "confirmations for 250 submissions").to.be.within(1, 3);

    await replica.stop("SIGKILL");
    const alone = await engine.submitter.submit(submission("b"), engine.queues.settings("jobs"));
    expect(alone).to.include({ verdict: "new", durable: false });
    expect(await engine.inspector.inspect("b", { result: false })).to.include({ state: "waiting" });
    expect(await engine.metrics.exposition()).to.match(
      /paihao_submissions_total\{queue="jobs",verdict="not-durable"\} 1/,
    );

    await replica.restart();
    await replicated();
    const again = await engine.submitter.submit(submission("b"), engine.queues.settings("jobs"));
    expect(again).to.include({ verdict: "replay", durable: true });
  });

  it("is confirmed for all replicas only once the slowest has the task, and never without one", async () => {
    const engine = await open("replicas");
    const submit = (id: string) => engine.submitter.submit(submission(id), engine.queues.settings("jobs"));
    const second = await startRedis({ args: ["--replicaof", "127.0.0.1", String(master.port)] });
    try {
      await eventually(async () => (await admin.info("replication")).match(/state=online/g)?.length === 2);
      expect(await submit("c")).to.include({ verdict: "new", durable: true });

      process.kill(second.pid, "SIGSTOP");
      expect(await submit("d")).to.include({ verdict: "new", durable: false });
      process.kill(second.pid, "SIGCONT");
      expect(await submit("d")).to.include({ verdict: "replay", durable: true });
    } finally {
      await second.stop();
    }
    await replica.stop();
    await eventually(async () => /connected_slaves:0/.test(await admin.info("replication")));
    expect(await submit("e")).to.include({ verdict: "new", durable: false });
    await replica.restart();
  });
});
