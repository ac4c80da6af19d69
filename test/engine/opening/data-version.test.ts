import { expect } from "chai";
import { readConfig } from "../../../src/config/config.ts";
import { verifyStore } from "../../../src/engine/maintenance/verify.ts";
import { claimDataVersion, dataVersionProblem } from "../../../src/engine/opening/data-version.ts";
import { type OpenedEngine, openEngine } from "../../../src/engine/opening/open.ts";
import { claimPartitions } from "../../../src/engine/opening/partition-count.ts";
import { createLog } from "../../../src/log.ts";
import { type Connection, connect } from "../../../src/store/connection.ts";
import { DATA_VERSION, type DataVersions } from "../../../src/store/data-version.ts";
import { Keys } from "../../../src/store/keys.ts";
import { type Scripts, scriptsOf } from "../../../src/store/verbs/scripts.ts";
import { storeUrl, uniquePrefix } from "../../helpers/store/run-store.ts";
import { removeKeysLike } from "../../helpers/store/scan.ts";

const versions = (written: number, oldestRead: number, oldestBeside: number): DataVersions => ({
  ...{ written, oldestRead, oldestBeside },
});

describe("the version of the data", () => {
  const log = createLog("silent");
  let redis: Connection;
  let scripts: Scripts;
  let keys: Keys;
  beforeEach(async () => {
    redis = await connect(storeUrl(), "version", log);
    scripts = scriptsOf(redis);
    keys = new Keys(uniquePrefix(), 2);
  });
  afterEach(async () => {
    await removeKeysLike(redis, `*${keys.prefix}*`);
    redis.disconnect();
  });
  const stored = () => redis.get(keys.dataVersion);
  const starts = (ours: DataVersions, release: string) => claimDataVersion(scripts, keys, ours, release);
  const refused = async (ours: DataVersions, release: string) => {
    const before = await stored();
    const reason = await starts(ours, release).then(
      () => "started",
      (error: Error) => `${error.name}: ${error.message}`,
    );
    expect(await stored()).to.equal(before);
    return reason;
  };

  it("is written at the first start, and raised by a later release", async () => {
    await starts(versions(2, 1, 1), "0.2.0");
    expect(await stored()).to.equal("2 1 0.2.0");
    await starts(versions(3, 2, 2), "0.3.0");
    expect(await stored()).to.equal("3 2 0.3.0");
  });

  it("stays when an earlier release starts that can work beside the later one, in a rolling upgrade or a rollback", async () => {
    await starts(versions(3, 2, 2), "0.3.0");
    await starts(versions(2, 1, 1), "0.2.0");
    await starts(versions(3, 2, 2), "0.3.1");
    expect(await stored()).to.equal("3 2 0.3.0");
  });

  it("prevents the start of an earlier release that would misread the data, and names the one to start", async () => {
    await starts(versions(3, 2, 3), "0.3.0");
    expect(await refused(versions(2, 1, 1), "0.2.0")).to.equal(
      `StartError: the store with KEY_PREFIX ${keys.prefix} has data of version 3, written by Paihao 0.3.0, which Paihao 0.2.0 cannot ` +
        "work with (it knows versions up to 2); start Paihao 0.3.0 or later on it, or use another KEY_PREFIX for this release: see docs/operations.md",
    );
  });

  it("prevents the start of a later release that cannot read the data any more, and says how to upgrade", async () => {
    await starts(versions(1, 1, 1), "0.2.0");
    expect(await refused(versions(4, 2, 2), "0.9.0")).to.equal(
      `StartError: the store with KEY_PREFIX ${keys.prefix} has data of version 1, written by Paihao 0.2.0, and Paihao 0.9.0 reads ` +
        "versions 2 to 4; upgrade in two steps, through a release that reads version 1, or start with another KEY_PREFIX: see docs/operations.md",
    );
  });

  it("is 1 if the data was stored by a release that did not write it", async () => {
    await claimPartitions(scripts, keys);
    expect(await refused(versions(3, 2, 2), "0.3.0")).to.include(
      "has data of version 1, and Paihao 0.3.0 reads versions 2 to 3",
    );
    await starts(versions(2, 1, 1), "0.2.0");
    expect(await stored()).to.equal("2 1 0.2.0");
  });

  it("prevents nothing in a store that has none yet", async () => {
    expect(await dataVersionProblem(redis, keys)).to.equal(undefined);
  });

  it("is agreed on by releases that start at the same time", async () => {
    const ours = [versions(1, 1, 1), versions(2, 1, 1), versions(3, 1, 1)];
    await Promise.all([...ours, ...ours].map((each) => starts(each, `0.${each.written}.0`)));
    expect(await stored()).to.equal("3 1 0.3.0");
  });

  describe("of a store that a later release has taken over", () => {
    let opened: OpenedEngine | undefined;
    afterEach(() => opened?.close());
    const config = () => readConfig({ REDIS_URL: storeUrl(), KEY_PREFIX: keys.prefix, PARTITIONS: "2" });
    const later = versions(99, 1, 99);

    it("makes a running server not ready, with the reason", async () => {
      opened = await openEngine(config(), storeUrl(), [], log);
      expect(await stored()).to.match(
        new RegExp(`^${DATA_VERSION.written} ${DATA_VERSION.oldestBeside} \\d+\\.\\d+\\.\\d+`),
      );
      expect(await opened.readiness()).to.deep.equal([]);
      await starts(later, "9.0.0");
      expect((await opened.readiness()).join()).to.match(
        /has data of version 99, written by Paihao 9\.0\.0, which .* start Paihao 9\.0\.0/,
      );
    });

    it("prevents a start and a verification, which might repair what it misreads", async () => {
      await claimPartitions(scripts, keys);
      await starts(later, "9.0.0");
      const start = openEngine(config(), storeUrl(), [], log);
      const verify = verifyStore(storeUrl(), keys.prefix, { heal: true }, log);
      for (const refusal of await Promise.allSettled([start, verify])) {
        expect(refusal).to.have.nested.property("reason.message").that.includes("start Paihao 9.0.0 or later");
      }
    });
  });
});
