import { expect } from "chai";
import { createLog } from "../../../src/log.ts";
import { findServerBinary } from "../../../src/store/servers/native/server-binary.ts";
import { storeKind } from "../../helpers/store/run-store.ts";
import { eventually } from "../../shared/eventually.ts";
import { reservePort } from "../../shared/ports.ts";
import { type PrivateRedis, startRedis } from "../../shared/redis-server.ts";
import { type GatewayServer, type RawUpstream, startGateways, startUpstream } from "./gateway.ts";

describe("a gateway whose API is down while Redis restarts", function () {
  this.timeout(60_000);
  let redis: PrivateRedis | undefined;
  let server: GatewayServer | undefined;
  let upstream: RawUpstream | undefined;
  before(async function () {
    // A store of its own, with which it may do as it likes, is for machines that have a server.
    if (storeKind() === "embedded" || (await findServerBinary(createLog("silent"))).binary === undefined) this.skip();
  });
  afterEach(async () => {
    await server?.stop();
    await upstream?.close();
    await redis?.stop("SIGKILL");
  });

  it("stays open after that, and resumes with all tasks in order", async () => {
    redis = await startRedis({ args: ["--appendonly", "yes", "--appendfsync", "always"] });
    const port = await reservePort();
    const gateway = `{ queue: "shop", target: "http://127.0.0.1:${port}", concurrency: 1, attempts: 3 }`;
    const gateways = await startGateways(`export const shop = defineGateway(${gateway});`, { REDIS_URL: redis.url });
    server = gateways;
    const ids = Array.from({ length: 6 }, (_, n) => `t${n}`);
    for (const id of ids) {
      const headers = { Prefer: "respond-async", "X-Request-Id": id };
      expect((await gateways.send(`/v1/gateway/shop/${id}`, { headers })).status).to.equal(202);
    }
    const resting = async () => (await gateways.send("/v1/queues/shop")).json.resting;
    const before = await eventually(async () => (await resting()) ?? false, 20_000);
    await redis.stop("SIGKILL");
    expect((await gateways.send("/v1/queues/shop")).status).to.equal(503);
    await redis.restart();
    const behind = await eventually(async () => {
      const { status, json } = await gateways.send("/v1/queues/shop");
      return status === 200 && json.resting;
    }, 20_000);
    expect(behind.since).to.equal(before.since);
    const probed = async () => (await resting())?.nextProbe > behind.nextProbe;
    await eventually(probed, 30_000);
    upstream = await startUpstream(port);
    for (const id of ids) {
      const done = await gateways.until(id, "succeeded");
      expect(done.json.attempt, id).to.be.at.most(3);
      expect(upstream.to(`/${id}`), id).to.have.length(1);
    }
    expect(await resting()).to.equal(null);
    expect(upstream.requests.map(({ line }) => line.split(" ")[1])).to.deep.equal(ids.map((id) => `/${id}`));
  });
});
