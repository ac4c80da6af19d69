import { expect } from "chai";
import { readConfig } from "../../../src/config/config.ts";
import { type OpenedEngine, openEngine } from "../../../src/engine/upkeep/boot.ts";
import { claimOf } from "../../../src/engine/upkeep/deployment.ts";
import { StartError } from "../../../src/errors.ts";
import { createLog } from "../../../src/log.ts";
import { type Connection, connect, mastersOf } from "../../../src/store/connection.ts";
import { Keys } from "../../../src/store/keys.ts";
import { scriptsOf } from "../../../src/store/library/scripts.ts";
import { resultOf } from "../../helpers/engine.ts";
import { onCluster, storeUrl, uniquePrefix } from "../../helpers/store/run-store.ts";
import { removeKeysLike } from "../../helpers/store/scan.ts";
import { storedKey } from "../../helpers/store/stored.ts";
import { eventually } from "../../shared/eventually.ts";
import { submissionOf } from "../../shared/submission.ts";

describe("an engine that a process opens", () => {
  const log = createLog("silent");
  let redis: Connection;
  let prefix: string;
  const opened: OpenedEngine[] = [];
  beforeEach(async () => {
    redis = await connect(storeUrl(), "look", log);
    prefix = uniquePrefix();
  });
  afterEach(async () => {
    for (const one of opened.splice(0)) one.close();
    await removeKeysLike(redis, `*${prefix}*`);
    redis.disconnect();
  });
  const open = async (env: Readonly<Record<string, string>> = {}) => {
    const config = readConfig({ REDIS_URL: storeUrl(), KEY_PREFIX: prefix, ...env });
    const engine = await openEngine(config, storeUrl(), [], log);
    opened.push(engine);
    return engine;
  };

  /** How many connections for commands there are. */
  const connections = async () => {
    const clients = await Promise.all(mastersOf(redis).map((node) => node.client("LIST")));
    return String(clients).split("name=paihao-commands ").length - 1;
  };

  it("is ready, until the store cannot be reached, which it says", async () => {
    const { readiness, close, nodes } = await open();
    expect(await readiness()).to.deep.equal([]);
    expect(await nodes()).to.not.deep.equal([]);
    close();
    const [reason, ...others] = await readiness();
    expect(reason).to.match(/^the store cannot be reached: ./);
    expect(others).to.deep.equal([]);
  });

  it("is not ready if nothing confirms its submissions, unless it accepts none", async function () {
    if (onCluster()) this.skip();
    const api = await open({ DURABILITY: "replica" });
    expect((await api.readiness()).join()).to.match(/^DURABILITY is replica, but the store has no replica/);
    const worker = await open({ DURABILITY: "replica", ROLE: "worker" });
    expect(await worker.readiness()).to.deep.equal([]);
  });

  it("asks for a confirmation of its submissions only if one is configured", async function () {
    if (onCluster()) this.skip();
    const durable = async ({ engine }: OpenedEngine) => {
      const settings = engine.queues.settings("jobs");
      return (await engine.submitter.submit(submissionOf("a", "jobs", "1"), settings)).durable;
    };
    expect(await durable(await open())).to.equal(true);
    expect(await durable(await open({ DURABILITY: "replica" })), "there is no replica").to.equal(false);
  });

  it("keeps each result under a key of its own if results have to expire on time", async () => {
    const { engine } = await open({ STRICT_RESULT_TTL: "true" });
    const settings = engine.queues.settings("jobs");
    await engine.submitter.submit(submissionOf("a", "jobs", "1"), settings);
    const request = { queue: "jobs", worker: "w", reservation: "r", count: 1, leaseMs: 15_000, rate: undefined };
    const { tasks } = await engine.leases.reserve(request);
    await engine.leases.complete({ queue: "jobs", id: "a", fence: tasks[0]?.fence ?? "" }, resultOf("done"), settings);
    expect(await redis.pttl(storedKey(engine.keys.tag(0), "result", "a"))).to.be.above(0);
  });

  it("is not ready once every partition refuses writes, for which it gives each reason once", async () => {
    const { engine, readiness } = await open({ PARTITIONS: "2" });
    // As its ticks find out.
    const refusals = engine.upkeep.refusals as Map<number, string>;
    refusals.set(0, "the store is full");
    expect(await readiness()).to.deep.equal([]);
    refusals.set(1, "the store is full");
    expect(await readiness()).to.deep.equal(["the store is full"]);
  });

  it("is not opened with another number of partitions than the store was first used with, and leaves no connection behind", async () => {
    const claimed = new Keys(prefix, 2);
    await scriptsOf(redis).claim(claimed.tag(0), claimOf(claimed));
    const before = await connections();
    const refused = await open({ PARTITIONS: "3" }).catch((error: unknown) => error);
    expect(refused)
      .to.be.instanceOf(StartError)
      .with.property(
        "message",
        `PARTITIONS is 3, but the store with KEY_PREFIX ${prefix} was first used with 2; expected 2`,
      );
    await eventually(async () => (await connections()) === before);
    await open({ PARTITIONS: "2" });
  });

  it("lets requests for work of at most sixteen queues wait in the store, each on a connection of its own", async function () {
    if (onCluster()) this.skip();
    const { engine } = await open();
    const standbys = [];
    for (let n = 0; n < 17; n += 1) standbys.push(await engine.leases.openStandby(`q${n}`));
    expect(standbys.map((standby) => standby?.usable ?? false)).to.deep.equal([...Array(16).fill(true), false]);
    const request = { queue: "q0", worker: "w", reservation: "r", count: 1, leaseMs: 15_000, rate: undefined };
    expect((await standbys[0]?.reserve(request, 0))?.tasks).to.deep.equal([]);
    for (const standby of standbys) standby?.close();
  });
});
