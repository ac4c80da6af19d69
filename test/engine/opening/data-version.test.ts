import { expect } from "chai";
import { readConfig } from "../../../src/config/config.ts";
import { verifyStore } from "../../../src/engine/maintenance/verify.ts";
import { claimDataVersion, DATA_VERSION, dataVersionProblem } from "../../../src/engine/opening/data-version.ts";
import { claimPartitions, type OpenedEngine, openEngine } from "../../../src/engine/opening/open.ts";
import { createLog } from "../../../src/log.ts";
import { type Connection, connect } from "../../../src/store/connection.ts";
import { Keys } from "../../../src/store/keys.ts";
import { type Scripts, scriptsOf } from "../../../src/store/verbs/scripts.ts";
import { storeUrl, uniquePrefix } from "../../helpers/store/run-store.ts";
import { removeKeysLike } from "../../helpers/store/scan.ts";

describe("the version of the data", () => {
  const log = createLog("silent");
  let redis: Connection;
  let scripts: Scripts;
  let keys: Keys;
  let opened: OpenedEngine | undefined;
  beforeEach(async () => {
    redis = await connect(storeUrl(), "version", log);
    scripts = scriptsOf(redis);
    keys = new Keys(uniquePrefix(), 2);
  });
  afterEach(async () => {
    opened?.close();
    opened = undefined;
    await removeKeysLike(redis, `*${keys.prefix}*`);
    redis.disconnect();
  });
  const stored = () => redis.get(keys.dataVersion);
  const config = () => readConfig({ REDIS_URL: storeUrl(), KEY_PREFIX: keys.prefix, PARTITIONS: "2" });

  it("is written at the first start, and raised by a later release, also if many start at the same time", async () => {
    expect(await dataVersionProblem(redis, keys)).to.equal(undefined);
    await claimDataVersion(scripts, keys, 2);
    expect(await stored()).to.equal("2");
    await Promise.allSettled([3, 2, 1, 3, 2].map((each) => claimDataVersion(scripts, keys, each)));
    expect(await stored()).to.equal("3");
  });

  it("makes a running server not ready, with the reason, when a later release has taken over the store", async () => {
    opened = await openEngine(config(), storeUrl(), [], log);
    expect(await stored()).to.equal(String(DATA_VERSION));
    expect(await opened.readiness()).to.deep.equal([]);
    await claimDataVersion(scripts, keys, 99);
    expect((await opened.readiness()).join()).to.match(/has data of version 99, .* start the release that wrote it/);
  });

  it("prevents a start and a verification, which might repair what it misreads, on data of a later release", async () => {
    await claimPartitions(scripts, keys);
    await claimDataVersion(scripts, keys, 99);
    const start = openEngine(config(), storeUrl(), [], log);
    const verify = verifyStore(storeUrl(), keys.prefix, { heal: true }, log);
    for (const refusal of await Promise.allSettled([start, verify])) {
      expect(refusal).to.have.nested.property("reason.message").that.includes("start the release that wrote it");
    }
    expect(await stored()).to.equal("99");
  });
});
