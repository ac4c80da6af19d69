import { chmod, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { Redis } from "ioredis";
import type { Config } from "../../../src/config/config.ts";
import { probeExternal } from "../../../src/store/servers/external.ts";
import { findServerBinary } from "../../../src/store/servers/native/server-binary.ts";
import { type ProvisionedStore, provisionStore } from "../../../src/store/servers/provision.ts";
import { recordingLog } from "../../helpers/recording-log.ts";
import { expectStartError } from "../../helpers/start-error.ts";
import { reservePort } from "../../shared/ports.ts";
import { type PrivateRedis, startRedis } from "../../shared/redis-server.ts";
import { type FakeRedis, startFakeRedis, startPlain, startTcp } from "./fake-redis.ts";

describe("the store that is provided", () => {
  const searched = process.env.PATH;
  let dir: string;
  let store: ProvisionedStore | undefined;

  const provide = async (config: Partial<Config>, log = recordingLog().log) => {
    store = await provisionStore(
      { redisUrl: undefined, store: undefined, dataDir: path.join(dir, "data"), ...config },
      log,
    );
    return store;
  };
  const installed = async () => (await findServerBinary(recordingLog().log)).binary !== undefined;
  /** Sets PATH to a directory that contains only this program. */
  const onlyOnPath = async (name?: string, version?: string) => {
    if (name !== undefined) {
      const file = path.join(dir, name);
      await writeFile(file, `#!/bin/sh\necho "Redis server v=${version} sha=00000000:0 malloc=libc bits=64"\n`);
      await chmod(file, 0o755);
    }
    process.env.PATH = dir;
  };

  beforeEach(async () => {
    dir = await mkdtemp(path.join(tmpdir(), "paihao-provision-"));
  });

  afterEach(async () => {
    process.env.PATH = searched;
    await store?.stop();
    store = undefined;
    await rm(dir, { recursive: true, force: true });
  });

  it("is the Redis of REDIS_URL, if set", async () => {
    const fake = await startFakeRedis({ redis_version: "7.4.1" });
    try {
      const { kind, url, description } = await provide({ redisUrl: `redis://127.0.0.1:${fake.port}` });
      expect(kind).to.equal("external");
      expect(url).to.equal(`redis://127.0.0.1:${fake.port}`);
      expect(description).to.equal(`store: external, version 7.4.1, at 127.0.0.1:${fake.port}`);
    } finally {
      await fake.stop();
    }
  });

  it("is an installed server without REDIS_URL", async function () {
    if (!(await installed())) this.skip();
    const { kind, description } = await provide({});
    expect(kind).to.equal("native");
    expect(description).to.contain(path.join(dir, "data"));
  });

  it("is the embedded one if no server is installed, and leaves no directory behind", async () => {
    await onlyOnPath();
    const { kind, url } = await provide({});
    process.env.PATH = searched;
    expect(kind).to.equal("embedded");
    expect(await readdir(dir)).to.deep.equal([]);
    const redis = new Redis(url);
    expect(await redis.ping()).to.equal("PONG");
    redis.disconnect();
  });

  it("is the one that STORE names, even if REDIS_URL is set", async () => {
    expect((await provide({ store: "embedded", redisUrl: "redis://127.0.0.1:1" })).kind).to.equal("embedded");
  });

  it("is not an installed server that is too old, and the log says so", async () => {
    await onlyOnPath("redis-server", "6.2.14");
    const { log, messages } = recordingLog();
    expect((await provide({}, log)).kind).to.equal("embedded");
    expect(messages[0])
      .to.contain(path.join(dir, "redis-server"))
      .and.to.contain("version 6.2.14")
      .and.to.contain("7.0 or later is needed");
  });

  it("cannot be native if no server is installed; the error says how to install one", async () => {
    await onlyOnPath();
    await expectStartError(
      provide({ store: "native" }),
      /STORE is native, but there is no redis-server or valkey-server on PATH; install one, e\.g\. with `apt-get/,
    );
  });

  it("cannot be native if the installed server is too old; the error names it", async () => {
    await onlyOnPath("valkey-server", "6.0.9");
    await expectStartError(provide({ store: "native" }), /valkey-server is version 6\.0\.9, too old; install one/);
  });

  it("cannot be external without REDIS_URL", async () => {
    await expectStartError(provide({ store: "external" }), "REDIS_URL is not set");
  });
});

describe("an external store", () => {
  const { log } = recordingLog();
  const probe = (url: string) => probeExternal(url, log, 300);
  let fake: FakeRedis | undefined;

  afterEach(async () => {
    await fake?.stop();
    fake = undefined;
  });

  it("that cannot be reached is reported with host, port and reason", async () => {
    const port = await reservePort();
    const message = await expectStartError(
      probe(`redis://user:s3cret@127.0.0.1:${port}`),
      `cannot use the store at 127.0.0.1:${port}: connect ECONNREFUSED`,
    );
    expect(message).not.to.contain("s3cret");
  });

  it("whose name has several unreachable addresses is reported with a reason", async () => {
    await expectStartError(probe(`redis://localhost:${await reservePort()}`), "ECONNREFUSED");
  });

  it("that starts a little later is waited for", async () => {
    const port = await reservePort();
    const probed = probeExternal(`redis://127.0.0.1:${port}`, log, 10_000);
    fake = await startFakeRedis({ redis_version: "7.4.1" }, port);
    expect(await probed).to.contain(`at 127.0.0.1:${port}`);
  });

  it("that never answers is waited for only a limited time", async () => {
    fake = await startTcp(() => "");
    await expectStartError(probe(`redis://127.0.0.1:${fake.port}`), "timed out");
  });

  it("that is too old is refused", async () => {
    fake = await startFakeRedis({ redis_version: "6.2.14" });
    await expectStartError(
      probe(`redis://127.0.0.1:${fake.port}`),
      `127.0.0.1:${fake.port}: the store is Redis 6.2.14, but 7.0 or later is needed`,
    );
  });

  it("that is still loading is waited for, and the progress is logged", async () => {
    let asked = 0;
    fake = await startTcp(([command]) => {
      if (command === "info") return "$46\r\nredis_version:7.0.0\r\nloading_loaded_perc:45.2\r\n\r\n";
      if (command !== "ping") return "-ERR unknown command 'HELLO'\r\n";
      return ++asked < 5 ? "-LOADING Redis is loading the dataset in memory\r\n" : "+PONG\r\n";
    });
    expect(await probe(`redis://127.0.0.1:${fake.port}`)).to.contain("version 7.0.0");
    expect(asked).to.equal(5);
  });

  it("that is not Redis is reported as such", async () => {
    fake = await startPlain("HTTP/1.1 400 Bad Request\r\n\r\n");
    await expectStartError(probe(`redis://127.0.0.1:${fake.port}`), "is not Redis");
  });

  it("that does not speak TLS is reported as such", async () => {
    fake = await startPlain("HTTP/1.1 400 Bad Request\r\n\r\n");
    await expectStartError(
      probe(`rediss://127.0.0.1:${fake.port}`),
      "over TLS does not speak TLS; should it be redis://?",
    );
  });

  it("with an invalid URL is reported without repeating it", async () => {
    const message = await expectStartError(probe("redis://:s3cret@host:99999"), "REDIS_URL is not a valid URL");
    expect(message).not.to.contain("s3cret");
  });

  describe("with a password", () => {
    let redis: PrivateRedis;

    before(async function () {
      if ((await findServerBinary(log)).binary?.name !== "redis-server") return this.skip();
      redis = await startRedis({ args: ["--requirepass", "r1ght", "--unixsocket", "redis.sock"] });
    });

    after(() => redis?.stop());

    it("is used with the right one, without showing it", async () => {
      const description = await probe(`redis://:r1ght@127.0.0.1:${redis.port}/2`);
      expect(description).to.match(/^store: external, version \d+\.\d+\.\d+, at 127\.0\.0\.1:\d+ database 2$/);
    });

    it("is used through its socket", async () => {
      const socket = path.join(redis.dir, "redis.sock");
      expect(await probe(`unix://:r1ght@${socket}?db=2`)).to.match(
        /^store: external, version .*, at \/.*\/redis\.sock database 2$/,
      );
      await expectStartError(probe(`unix://${socket}`), `${socket} needs a password`);
      await expectStartError(probe(`unix://${socket}.away`), `cannot use the store at ${socket}.away: connect ENOENT`);
    });

    it("is refused with a wrong one, without showing it", async () => {
      const message = await expectStartError(
        probe(`redis://:s3cret@127.0.0.1:${redis.port}`),
        `127.0.0.1:${redis.port} refuses the user name or password`,
      );
      expect(message).not.to.contain("s3cret");
    });

    it("is refused without one", async () => {
      await expectStartError(probe(`redis://127.0.0.1:${redis.port}`), "needs a password");
    });

    it("is refused if the user may not read the version; the error says how to allow it", async () => {
      const admin = new Redis(redis.port, "127.0.0.1", { password: "r1ght" });
      await admin.acl("SETUSER", "limited", "on", ">pw", "~*", "+@all", "-info");
      admin.disconnect();
      await expectStartError(probe(`redis://limited:pw@127.0.0.1:${redis.port}`), "may not run INFO");
    });

    it("is refused if the database does not exist", async () => {
      await expectStartError(probe(`redis://:r1ght@127.0.0.1:${redis.port}/99`), "has no such database");
    });
  });
});
