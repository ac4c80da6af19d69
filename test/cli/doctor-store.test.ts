import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import type { Redis } from "ioredis";
import type { Finding } from "../../src/cli/doctor/finding.ts";
import { connectOnce } from "../../src/store/servers/connect-once.ts";
import { runCli } from "../helpers/cli.ts";
import { startServer } from "../helpers/http/server.ts";
import { storeKind } from "../helpers/store/run-store.ts";
import { keepFromSaving } from "../helpers/store/unsaved.ts";
import { type PrivateRedis, startRedis } from "../shared/redis-server.ts";

describe("paihao doctor, on a store that answers but does not work", function () {
  this.timeout(60_000);
  let redis: PrivateRedis;
  let admin: Redis;
  let dir: string;
  before(async function () {
    if (storeKind() === "embedded") this.skip();
    redis = await startRedis();
    admin = (await connectOnce(redis.url)) as Redis;
    dir = mkdtempSync(path.join(tmpdir(), "paihao-doctor-"));
  });
  after(async () => {
    admin?.disconnect();
    await redis?.stop("SIGKILL");
    if (dir !== undefined) rmSync(dir, { recursive: true });
  });

  const examine = async (env: Readonly<Record<string, string>> = {}) => {
    const variables = { REDIS_URL: redis.url, PORT: "0", ...env };
    const { code, stdout } = await runCli(["doctor", "--json"], { cwd: dir, env: variables });
    const { findings } = JSON.parse(stdout) as { findings: Finding[] };
    return { code, found: findings.filter(({ level }) => level !== "ok"), findings };
  };
  const named = (findings: readonly Finding[], check: string) =>
    findings.find((finding) => finding.check === check)?.message;

  it("finds a disk that cannot be written", async () => {
    const heal = await keepFromSaving(admin, redis.dir);
    const { code, found } = await examine();
    expect(code).to.equal(1);
    expect(named(found, "writes")).to.match(/^the store refuses writes: it cannot save to its disk/);
    expect(named(found, "persistence")).to.equal("the last snapshot failed");
    await heal();
  });

  it("finds too few replicas for min-replicas-to-write, and for DURABILITY", async () => {
    await admin.config("SET", "min-replicas-to-write", "1");
    const refused = await examine();
    await admin.config("SET", "min-replicas-to-write", "0");
    expect(refused.code).to.equal(1);
    expect(named(refused.found, "writes")).to.match(/^the store refuses writes: .*min-replicas-to-write/);
    const alone = await examine({ DURABILITY: "replica" });
    expect(alone.code).to.equal(1);
    expect(named(alone.found, "durability")).to.match(/^DURABILITY is replica, but the store has no replica/);
    const good = await examine();
    expect(good.code, JSON.stringify(good.found)).to.equal(0);
    expect(named(good.findings, "writes")).to.equal("accepted, and messages arrive");
  });

  it("finds a user without channels", async () => {
    await admin.call("ACL", "SETUSER", "mute", "reset", "on", ">pw", "~*", "resetchannels", "+@all");
    const { code, found } = await examine({ REDIS_URL: redis.url.replace("//", "//mute:pw@") });
    expect(code).to.equal(1);
    expect(named(found, "rights")).to.include("may not use channels that begin with {ph: (PUBLISH, SUBSCRIBE)");
    expect(found.find(({ check }) => check === "rights")?.advice).to.include("'&{ph:*'");
  });

  it("finds a queue without a handler anywhere, and work without a worker", async () => {
    const server = await startServer({ REDIS_URL: redis.url, KEY_PREFIX: "left", ROLE: "api" });
    await server.enqueue("default", 1);
    await server.enqueue("gated", 1);
    await server.stop({ keep: true });
    const { code, found } = await examine({ KEY_PREFIX: "left" });
    expect(code).to.equal(0);
    const queues = found.filter(({ check }) => check === "queues").map(({ message }) => message);
    expect(queues).to.deep.equal([
      "no live worker takes tasks from default, where 1 wait",
      "gated is orphaned: neither a live worker nor HANDLERS here has a handler for it (1 waiting)",
    ]);
    const working = await startServer({ REDIS_URL: redis.url, KEY_PREFIX: "left" });
    const after = await examine({ KEY_PREFIX: "left" });
    await working.stop({ keep: true });
    expect(after.found.filter(({ check }) => check === "queues")).to.deep.equal([]);
  });

  it("finds a misspelt variable and a missing file of keys, which keeps the server from starting", async () => {
    const { code, found } = await examine({ CONCURENCY: "3", API_KEYS_FILE: "nowhere" });
    expect(code).to.equal(1);
    expect(found).to.deep.include({
      ...{ check: "settings", level: "warning", message: "nothing reads CONCURENCY" },
      advice: "did you mean CONCURRENCY? Rename it",
    });
    expect(named(found, "keys")).to.match(/^API_KEYS_FILE is "nowhere", expected a file to read: ENOENT/);
  });

  it("reports in one line the same as a start", async () => {
    await admin.config("SET", "min-replicas-to-write", "1");
    const { code, stderr } = await runCli(["start"], {
      cwd: dir,
      env: { REDIS_URL: redis.url, PORT: "0", LOG_LEVEL: "error" },
    });
    await admin.config("SET", "min-replicas-to-write", "0");
    expect(code).to.equal(1);
    expect(stderr).to.match(/^(\S+ )*?the store refuses writes: [^\n]*min-replicas-to-write[^\n]*\n$/);
  });
});
