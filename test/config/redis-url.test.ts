import { expect } from "chai";
import { secretsOf } from "../../src/config/config.ts";
import { parseRedisUrl, placeOf, socketUrl } from "../../src/config/redis-url.ts";
import { StartError } from "../../src/errors.ts";

describe("the address of a store", () => {
  it("is a single Redis", () => {
    const plain = { kind: "single", port: 6379, database: 0, login: {} };
    expect(parseRedisUrl("REDIS://h")).to.deep.equal({ ...plain, host: "h" });
    expect(parseRedisUrl("redis://[::1]:6379/")).to.deep.equal({ ...plain, host: "::1" });
    for (const url of ["redis://h/2", "redis://h?db=2", "redis://h/?db=2"])
      expect(placeOf(parseRedisUrl(url)), url).to.equal("h:6379 database 2");
    expect(parseRedisUrl("rediss://user:p%40%2Fss@redis.example:6380/2")).to.deep.equal({
      ...{ kind: "single", host: "redis.example", port: 6380, database: 2 },
      ...{ login: { username: "user", password: "p@/ss" }, tls: {} },
    });
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
    expect(parseRedisUrl(`rediss://h?db=2&${files}`)).to.deep.include({ kind: "single", database: 2, tls });
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
      ["hunter2", /^the address does not have this form/],
      ["redis://:hunter2@", /host:port/],
      ["redis://:hunter2@/0", /host:port/],
      ["redis://:hunter2@a,b", /several hosts need/],
      ["redis://:hunter2@a/abc", /its database must be a number/],
      ["redis://:hunter2@a/1/2", /its database must be a number/],
      ["redis://:hunter2@a?db=-1", /its database must be a number/],
      ["redis://:hunter2@a/1?db=1", /its database is given twice/],
      ["redis://:hunter2@a?db=1&db=1", /db is given twice/],
      ["redis://:hunter2@a?family=6", /unknown option after \?, expected some of db, ca/],
      ["redis+cluster://", /not have this form/],
      ["redis+cluster://:hunter2@a:99999", /host:port/],
      ["redis+cluster://:hunter2@a,,b", /host:port/],
      ["redis+cluster://:hunter2@a/1", /only database 0/],
      ["redis+cluster://:hunter2@a?db=1", /only database 0/],
      ["redis+cluster://:hunter2%zz@a", /percent-encoded/],
      ["redis+sentinel://:hunter2@a", /name of the master/],
      ["redis+sentinel://:hunter2@a/m/x", /name of the master/],
      ["redis+sentinel://:hunter2@a/m/1?db=1", /its database is given twice/],
      ["redis://a?ca=/hunter2", /ca needs TLS/],
      ["rediss://a?cert=/hunter2", /belong together/],
      ["rediss://a?ca=", /ca is empty/],
      ["redis://a?sentinel_password=hunter2", /redis\+sentinel/],
      ["redis+sentinel://a/m?sentinel_username=hunter2", /needs sentinel_password/],
      ["redis+sentinel://a/m?hunter2=1", /unknown option after \?/],
      ["redis+ring://:hunter2@a", /not have this form/],
      ["unix://hunter2/s", /not have this form/],
      ["unix://:hunter2@/s?password=hunter2", /unknown option after \?/],
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

  it("is refused with an unencoded special character in a password, which the message says how to encode", () => {
    for (const password of ["one@two", "one/two", "one?two", "one#two", "one two", "one%two", "/one", "one@two/3"]) {
      for (const rest of [
        "redis://NAME:IT@h/1",
        "redis+cluster://:IT@a,b",
        "redis+sentinel://:IT@a:1,b/m",
        "unix://:IT@/s",
      ]) {
        const error = thrownBy(() => parseRedisUrl(rest.replace("IT", password)));
        expect(error, rest.replace("IT", password)).to.be.instanceOf(StartError);
        const { message } = error as StartError;
        expect(message).to.include("@ as %40, / as %2F");
        expect(message).to.not.match(/one|two|NAME/);
      }
      const sentinels = `redis+sentinel://a/m?sentinel_password=${password}`;
      if (/[@#%]/.test(password)) expect(() => parseRedisUrl(sentinels), sentinels).to.throw(StartError, "%40");
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
