import { expect } from "chai";
import { createLog } from "../../src/log.ts";
import { connect } from "../../src/store/connection.ts";
import { startServer, type TestServer } from "../helpers/http/server.ts";
import { expectStartError } from "../helpers/start-error.ts";
import { eventually } from "../shared/eventually.ts";
import type { PrivateRedis } from "../shared/redis-server.ts";
import { startLoad, withoutResult } from "./load.ts";
import { needsRedisServer } from "./needs.ts";
import { type SentinelSetup, startSentinels } from "./sentinel.ts";

describe("a Redis with sentinels", function () {
  this.timeout(60_000);
  let sentinels: SentinelSetup;
  let server: TestServer | undefined;
  before(async function () {
    await needsRedisServer(this);
    sentinels = await startSentinels();
  });
  afterEach(async () => {
    await server?.stop({ keep: true });
    server = undefined;
  });
  after(() => sentinels?.stop());
  /** Asks again as long as it is the master: sentinels give a failover up that takes too long. */
  const failOver = (old: PrivateRedis) =>
    eventually(async () => {
      if ((await sentinels.master()) !== old) return true;
      await sentinels.failover();
      return false;
    });

  it("is found through them, and an unknown name is reported", async () => {
    server = await startServer({ REDIS_URL: sentinels.url });
    expect((await server.post("default", 1)).status).to.equal(200);
    await expectStartError(
      startServer({ REDIS_URL: sentinels.url.replace("mymaster", "nobody") }),
      /^no sentinel knows nobody of sentinels 127\.0\.0\.1:/,
    );
  });

  it("loses no task accepted with DURABILITY=replica when its master dies, and workers continue by themselves", async () => {
    const running = await startServer({ REDIS_URL: sentinels.url, DURABILITY: "replica", LEASE: "2s" });
    server = running;
    const load = startLoad(running);
    await load.more(200);
    const old = await sentinels.master();
    await old.stop("SIGKILL");
    await eventually(async () => (await sentinels.master()) !== old, 30_000);
    // It comes back as the replica of its heir: before, nothing can be as durable as promised.
    const heir = await sentinels.master();
    await old.restart(["--replicaof", "127.0.0.1", String(heir.port), "--repl-diskless-sync-delay", "0"]);
    await load.more(300);
    await load.stop();
    expect(await withoutResult(running, load)).to.deep.equal([]);
    expect([...load.refusals.keys()].filter((status) => status !== 503)).to.deep.equal([]);
  });

  it("follows READONLY to the new master when the old one is demoted alive", async () => {
    const running = await startServer({ REDIS_URL: sentinels.url, LEASE: "2s" });
    server = running;
    const load = startLoad(running, { clients: 4 });
    await load.more(50);
    const old = await sentinels.master();
    await failOver(old);
    await load.more(200);
    await load.stop();
    expect((await running.post("default", 1)).status).to.equal(200);
    expect([...load.refusals.keys()].filter((status) => status !== 503)).to.deep.equal([]);
  });

  it("loses no accepted task in a planned failover before which writes were paused", async () => {
    const running = await startServer({ REDIS_URL: sentinels.url, LEASE: "2s" });
    server = running;
    const load = startLoad(running);
    await load.more(200);
    const old = await sentinels.master();
    // One that connects again: sentinels end the connections of a server whose role they change.
    const admin = await connect(old.url, "admin", createLog("silent"));
    try {
      await eventually(async () => /slave0:.*state=online/.test(await admin.info("replication")));
      // For longer than the sentinels may take to see that the replica is fit to take over.
      await admin.client("PAUSE", 60_000, "WRITE");
      await eventually(async () => {
        const info = await admin.info("replication");
        return /slave0:.*offset=(\d+)/.exec(info)?.[1] === /master_repl_offset:(\d+)/.exec(info)?.[1];
      });
      await failOver(old);
    } finally {
      admin.disconnect();
    }
    await load.more(200);
    await load.stop();
    expect(await withoutResult(running, load)).to.deep.equal([]);
    expect([...load.refusals.keys()].filter((status) => status !== 503)).to.deep.equal([]);
  });
});
