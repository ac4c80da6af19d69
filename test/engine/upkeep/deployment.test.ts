import { expect } from "chai";
import { readConfig } from "../../../src/config/config.ts";
import { type OpenedEngine, openEngine } from "../../../src/engine/upkeep/boot.ts";
import { claimOf, DATA_VERSION, Deployment, dataVersionProblem } from "../../../src/engine/upkeep/deployment.ts";
import { verifyStore } from "../../../src/engine/upkeep/verify.ts";
import { type Connection, connect } from "../../../src/store/connection.ts";
import { Keys } from "../../../src/store/keys.ts";
import { scriptsOf } from "../../../src/store/library/scripts.ts";
import { packageVersion } from "../../../src/version.ts";
import { recordingLog } from "../../helpers/recording-log.ts";
import { storeUrl, uniquePrefix } from "../../helpers/store/run-store.ts";
import { removeKeysLike } from "../../helpers/store/scan.ts";
import { storedKey } from "../../helpers/store/stored.ts";
import { eventually } from "../../shared/eventually.ts";

describe("what the processes of a deployment agree on", () => {
  const { log, messages } = recordingLog();
  let connection: Connection;
  let keys: Keys;
  const opened: { close(): void }[] = [];
  const open = async (of = keys) => {
    const deployment = await Deployment.open(scriptsOf(connection), of, connection, log);
    opened.push(deployment);
    return deployment;
  };
  const start = async (): Promise<OpenedEngine> => {
    const config = readConfig({ REDIS_URL: storeUrl(), KEY_PREFIX: keys.prefix, PARTITIONS: "2" });
    const engine = await openEngine(config, storeUrl(), [], log);
    opened.push(engine);
    return engine;
  };
  const claim = (of: object) => scriptsOf(connection).claim(keys.tag(0), { ...claimOf(keys), ...of });
  const CLAIMED = ["version", "release", "partitions", "secret"] as const;
  const stored = () => Promise.all(CLAIMED.map((name) => connection.get(storedKey(keys.tag(0), name))));
  const empty = async () => {
    await Promise.all(CLAIMED.map((name) => connection.del(storedKey(keys.tag(0), name))));
  };

  beforeEach(async () => {
    connection = await connect(storeUrl(), "deployment", log);
    keys = new Keys(uniquePrefix(), 2);
  });
  afterEach(async () => {
    for (const one of opened.splice(0)) one.close();
    await removeKeysLike(connection, `*${keys.prefix}*`);
    connection.disconnect();
  });

  it("is written at the first start, and is the same for all processes", async () => {
    expect(await dataVersionProblem(connection, keys)).to.equal(undefined);
    const [first, ...others] = await Promise.all([open(), open(), open()]);
    const secret = first?.secret.value ?? "";
    expect(Buffer.from(secret, "base64url")).to.have.length(32);
    for (const other of [...others, await open()]) expect(other.secret.value).to.equal(secret);
    expect(await stored()).to.deep.equal([String(DATA_VERSION), packageVersion(), "2", secret]);
    const there = new Keys(uniquePrefix(), 2);
    expect((await open(there)).secret.value).not.to.equal(secret);
    await removeKeysLike(connection, `*${there.prefix}*`);
  });

  it("is restored to a store that was emptied, so that no process with other settings starts there", async () => {
    const deployment = await open();
    const before = await stored();
    await empty();
    connection.emit("ready");
    await eventually(async () => expect(await stored()).to.deep.equal(before));
    expect(deployment.problem).to.equal(undefined);
    const refused = await open(new Keys(keys.prefix, 3)).catch((error: unknown) => error);
    expect(refused).to.have.property("name", "StartError");
    expect(String(refused)).to.include("PARTITIONS is 3, but").and.include("first used with 2");
  });

  it("gives way to a secret that another process wrote meanwhile", async () => {
    const deployment = await open();
    await empty();
    await claim({ secret: "of another process" });
    connection.emit("ready");
    await eventually(() => deployment.secret.value === "of another process");
    expect(messages).to.include(
      "deployment: its secret has changed in the store, which may have been emptied; Idempotency-Keys now give other ids",
    );
    expect(JSON.stringify(messages)).not.to.contain("of another process");
  });

  it("makes a running server not ready, with the reason, when one with other settings has claimed the emptied store", async () => {
    const [{ readiness }, deployment] = [await start(), await open()];
    expect(await readiness()).to.deep.equal([]);
    // In one command each: a process that renews its claim in between would win.
    await connection.set(storedKey(keys.tag(0), "partitions"), 3);
    // It looks every few seconds.
    const refused = async () => expect((await readiness()).join()).to.match(/PARTITIONS is 2, .* first used with 3/);
    await eventually(refused, 20_000);
    await connection.mset(storedKey(keys.tag(0), "version"), 99, storedKey(keys.tag(0), "release"), "9.8.7");
    connection.emit("ready");
    await eventually(() => /data of version 99.*; start release 9\.8\.7, /.test(deployment.problem ?? ""));
  });

  for (const [version, release, advice] of [
    [99, "9.8.7", "start release 9.8.7, which wrote it, or use another KEY_PREFIX"],
    [1, "0.0.1", "let release 0.0.1, which wrote it, run until its tasks have ended"],
  ] as const) {
    it(`prevents a start and a verification on data of version ${version}, and says what to do`, async () => {
      await claim({ version, release });
      const verify = verifyStore(storeUrl(), keys.prefix, { heal: true }, log);
      for (const refusal of await Promise.allSettled([start(), verify])) {
        expect(refusal).to.have.nested.property("reason.message").that.includes(advice);
      }
      expect((await stored()).slice(0, 2)).to.deep.equal([String(version), release]);
    });
  }
});
