import { expect } from "chai";
import { parseRedisUrl, placeOf, socketUrl } from "../../src/config/redis-url.ts";
import { secretsOf } from "../../src/config/secrets.ts";
import { StartError } from "../../src/errors.ts";

describe("the address of a store", () => {
  it("is a single Redis with the options of its URL", () => {
    for (const url of ["redis://h", "redis://[::1]:6379", "redis://h/2?family=6"]) {
      expect(parseRedisUrl(url)).to.deep.equal({ kind: "single", url });
    }
    const url = "rediss://user:p%40ss@redis.example:6380/2";
    expect(parseRedisUrl(url)).to.deep.equal({ kind: "single", url, tls: {} });
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
    });
    const guarded = parseRedisUrl("rediss+cluster://us%3Aer:p%40ss%2C@a:7000/");
    expect(guarded).to.deep.include({ login: { username: "us:er", password: "p@ss," }, tls: {} });
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
      sentinelLogin: {},
    });
    expect(placeOf(address)).to.equal("my master of sentinels a:26380,b:26379 database 3");
  });

  it("may name the files for TLS, and the login of sentinels", () => {
    const files = "ca=%2Fa%20b%2Fca.pem&cert=c.pem&key=k.pem";
    const tls = { ca: "/a b/ca.pem", cert: "c.pem", key: "k.pem" };
    expect(parseRedisUrl(`rediss://h/2?family=6&${files}`)).to.deep.equal({
      kind: "single",
      url: "rediss://h/2?family=6",
      tls,
    });
    expect(parseRedisUrl(`rediss+cluster://h?${files}`)).to.deep.include({ kind: "cluster", tls });
    const sentinels = parseRedisUrl(`rediss+sentinel://a/m?${files}&sentinel_username=u&sentinel_password=p%2B+`);
    expect(sentinels).to.deep.include({ master: "m", tls, sentinelLogin: { username: "u", password: "p++" } });
    expect(placeOf(sentinels)).to.equal("m of sentinels a:26379 over TLS");
    const redisUrl = "redis+sentinel://a/m?sentinel_password=p%2Bq";
    expect(secretsOf({ redisUrl, urlSigningKey: undefined, webhookSecrets: [] })).to.include.members(["p%2Bq", "p+q"]);
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
      ["redis://a?ca=/hunter2", /ca needs TLS/],
      ["rediss://a?cert=/hunter2", /belong together/],
      ["rediss://a?ca=", /ca is empty/],
      ["redis://a?sentinel_password=hunter2", /redis\+sentinel/],
      ["redis+sentinel://a/m?sentinel_username=hunter2", /needs sentinel_password/],
      ["redis+sentinel://a/m?hunter2=1", /unknown option after \?/],
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
