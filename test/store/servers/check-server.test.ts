import { expect } from "chai";
import { Redis } from "ioredis";
import { checkServer, isSupportedVersion } from "../../../src/store/servers/check-server.ts";
import { expectStartError } from "../../helpers/start-error.ts";
import { storeKind, storeUrl } from "../../helpers/store/run-store.ts";
import { type FakeRedis, startFakeRedis } from "./fake-redis.ts";

describe("the check of a store", () => {
  let fake: FakeRedis | undefined;
  let redis: Redis | undefined;

  const checked = async (info: Record<string, string>) => {
    fake = await startFakeRedis(info);
    redis = new Redis(fake.port, "127.0.0.1", { enableReadyCheck: false, disableClientInfo: true });
    return checkServer(redis);
  };

  afterEach(async () => {
    redis?.disconnect();
    await fake?.stop();
    fake = undefined;
  });

  it("passes for the store of these tests", async function () {
    if (storeKind() === "external") this.skip();
    redis = new Redis(storeUrl());
    const { version, warnings, policy } = await checkServer(redis);
    expect(version).to.match(/^\d+\.\d+\.\d+$/);
    expect(warnings).to.deep.equal([]);
    expect(policy).to.equal("noeviction");
  });

  it("requires Redis 7.0, and accepts any Valkey", () => {
    for (const old of ["2.8.24", "5.0.14", "6.2.20"]) expect(isSupportedVersion(old), old).to.equal(false);
    for (const fit of ["7.0.0", "7.2.4", "7.10.1", "10.0.0"]) expect(isSupportedVersion(fit), fit).to.equal(true);
  });

  it("says which version was found and which is needed", async () => {
    await expectStartError(
      checked({ redis_version: "6.2.14", maxmemory_policy: "noeviction" }),
      "the store is Redis 6.2.14, but 7.0 or later is needed",
    );
  });

  it("names Valkey's own version, not the one that it is compatible with", async () => {
    const info = { redis_version: "7.2.4", server_name: "valkey", valkey_version: "9.1.0" };
    expect((await checked({ ...info, maxmemory_policy: "noeviction" })).version).to.equal("9.1.0");
  });

  it("warns of a policy that evicts tasks, and says what to do", async () => {
    const { warnings, policy } = await checked({ redis_version: "7.0.15", maxmemory_policy: "allkeys-lru" });
    expect(policy).to.equal("allkeys-lru");
    expect(warnings).to.have.lengthOf(1);
    expect(warnings[0]).to.contain("maxmemory-policy is allkeys-lru").and.to.contain("noeviction");
  });

  it("warns if the policy cannot be read", async () => {
    const { warnings, policy } = await checked({ redis_version: "7.0.15" });
    expect(policy).to.equal("unknown");
    expect(warnings).to.have.lengthOf(1);
  });

  it("refuses a Sentinel", async () => {
    await expectStartError(checked({ redis_version: "7.0.15", redis_mode: "sentinel" }), "is a Redis Sentinel");
  });

  it("refuses a server that does not report its version", async () => {
    await expectStartError(checked({ maxmemory_policy: "noeviction" }), "does not report its version");
  });
});
