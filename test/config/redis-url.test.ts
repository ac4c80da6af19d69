import { expect } from "chai";
import { parseRedisUrl, placeOf, socketUrl } from "../../src/config/redis-url.ts";
import { StartError } from "../../src/errors.ts";

describe("the address of a store", () => {
  it("is a single Redis with the options of its URL", () => {
    for (const url of ["redis://h", "rediss://user:p%40ss@redis.example:6380/2", "redis://[::1]:6379"]) {
      expect(parseRedisUrl(url)).to.deep.equal({ kind: "single", url });
    }
    expect(placeOf(parseRedisUrl("rediss://user:secret@redis.example:6380/2"))).to.equal(
      "redis.example:6380 database 2 over TLS",
    );
  });

  it("is a socket of this machine, with an optional login and database", () => {
    const path = "/tmp/a b/Tür%/s?#";
    expect(parseRedisUrl(socketUrl(path))).to.deep.equal({ kind: "socket", path, database: 0, login: {} });
    const address = parseRedisUrl("unix://us%3Aer:p%40ss@/run/redis/redis.sock?db=2");
    expect(address).to.deep.equal({
      kind: "socket",
      path: "/run/redis/redis.sock",
      database: 2,
      login: { username: "us:er", password: "p@ss" },
    });
    expect(placeOf(address)).to.equal("/run/redis/redis.sock database 2");
  });

  it("is a Redis Cluster by some of its nodes, with the default port unless given", () => {
    expect(parseRedisUrl("redis+cluster://a,b:7001, [::1]:7002")).to.deep.equal({
      kind: "cluster",
      nodes: [
        { host: "a", port: 6379 },
        { host: "b", port: 7001 },
        { host: "::1", port: 7002 },
      ],
      login: {},
      tls: false,
    });
    const guarded = parseRedisUrl("rediss+cluster://us%3Aer:p%40ss%2C@a:7000/");
    expect(guarded).to.deep.include({ login: { username: "us:er", password: "p@ss," }, tls: true });
    expect(placeOf(guarded)).to.equal("cluster a:7000 over TLS");
  });

  it("is a master by its name and its sentinels, with an optional database", () => {
    const address = parseRedisUrl("redis+sentinel://:secret@a:26380,b/my%20master/3");
    expect(address).to.deep.equal({
      kind: "sentinel",
      sentinels: [
        { host: "a", port: 26_380 },
        { host: "b", port: 26_379 },
      ],
      master: "my master",
      database: 3,
      login: { password: "secret" },
      tls: false,
    });
    expect(placeOf(address)).to.equal("my master of sentinels a:26380,b:26379 database 3");
  });

  it("is refused with a message that names the wrong part but repeats nothing", () => {
    const wrong: [string, RegExp][] = [
      ["http://:hunter2@redis.example", /^the address does not have this form/],
      ["redis://:hunter2@", /^the address does not have this form/],
      ["redis+cluster://", /host:port/],
      ["redis+cluster://:hunter2@a:99999", /host:port/],
      ["redis+cluster://:hun/ter2@a:1", /only database 0|host:port|not have this form/],
      ["redis+cluster://:hunter2@a,,b", /host:port/],
      ["redis+cluster://:hunter2@a/1", /only database 0/],
      ["redis+cluster://:hunter2%zz@a", /percent-encoded/],
      ["redis+sentinel://:hunter2@a", /name of the master/],
      ["redis+sentinel://:hunter2@a/m/x", /name of the master/],
      ["redis+ring://:hunter2@a", /not have this form/],
      ["unix://hunter2/s", /not have this form/],
      ["unix://:hunter2@/s?password=hunter2", /not have this form/],
      ["unix:///s%hunter2", /percent-encoded/],
    ];
    for (const [url, reason] of wrong) {
      const error = thrownBy(() => parseRedisUrl(url));
      expect(error, url).to.be.instanceOf(StartError);
      expect((error as StartError).message, url)
        .to.match(reason)
        .and.to.not.contain("hunter2");
    }
  });
});

function thrownBy(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
}
