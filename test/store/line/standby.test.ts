import { expect } from "chai";
import { Redis } from "ioredis";
import { createLog } from "../../../src/log.ts";
import { Keys } from "../../../src/store/keys.ts";
import { reserveOn } from "../../../src/store/library/scripts.ts";
import { openStandby } from "../../../src/store/line/standby.ts";
import { connectOnce } from "../../../src/store/servers/connect-once.ts";
import { type PrivateRedis, startRedis } from "../../shared/redis-server.ts";

describe("a connection on which requests wait", () => {
  let store: PrivateRedis;
  const opened: Redis[] = [];
  beforeEach(async () => {
    store = await startRedis();
  });
  afterEach(async () => {
    for (const redis of opened.splice(0)) redis.disconnect();
    await store.stop();
  });
  const kept = (redis: Redis): Redis => {
    opened.push(redis);
    return redis;
  };
  const open = async () => kept((await connectOnce(store.url)) as Redis);

  it("is given up without ending the connection of another client that has got its number after a restart", async () => {
    const commands = kept(new Redis(store.url));
    // So many have connected before it.
    for (let n = 0; n < 20; n += 1) await open();
    let own: Redis | undefined;
    const standby = await openStandby("jobs", {
      ...{ commands, keys: new Keys("ph", 1), log: createLog("silent") },
      connect: async () => {
        own = await open();
        return own;
      },
      reserveOn: (redis) => reserveOn(redis),
    });
    const id = await own?.client("ID");
    await store.restart();
    await commands.ping();
    let other = await open();
    while ((await other.client("ID")) < Number(id)) other = await open();
    expect(await other.client("ID")).to.equal(id);
    await standby?.abandon();
    standby?.close();
    expect(await other.client("ID")).to.equal(id);
  });

  it("is closed once, however often it is given up while the store cannot be reached", async () => {
    const commands = await open();
    const own = await open();
    const standby = await openStandby("jobs", {
      ...{ commands, keys: new Keys("ph", 1), log: createLog("silent"), connect: () => Promise.resolve(own) },
      reserveOn: (redis) => reserveOn(redis),
    });
    commands.disconnect();
    // Each call of `disconnect` leaves a listener on the socket.
    const before = own.stream.listenerCount("close");
    for (let n = 0; n < 5; n += 1) {
      const refused = await standby?.abandon().then(
        () => false,
        () => true,
      );
      expect(refused).to.equal(true);
    }
    expect(own.stream.listenerCount("close") - before).to.be.at.most(1);
  });
});
