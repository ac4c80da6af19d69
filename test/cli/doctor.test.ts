import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import type { Finding } from "../../src/cli/doctor/finding.ts";
import { checkNode } from "../../src/cli/doctor/setup.ts";
import { claimOf } from "../../src/engine/upkeep/deployment.ts";
import { createLog } from "../../src/log.ts";
import { DataLock } from "../../src/store/servers/native/data-lock.ts";
import { runCli } from "../helpers/cli.ts";
import { openEngine, type TestEngine } from "../helpers/engine.ts";
import { startServer } from "../helpers/http/server.ts";
import { storeKind, storeUrl, uniquePrefix } from "../helpers/store/run-store.ts";
import { reservePort } from "../shared/ports.ts";
import { type PrivateRedis, startRedis } from "../shared/redis-server.ts";
import { ROOT } from "../shared/root.ts";

describe("paihao doctor", function () {
  this.timeout(120_000);
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(path.join(tmpdir(), "paihao-doctor-"));
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  const examine = async (env: Readonly<Record<string, string>> = {}, args: readonly string[] = []) => {
    const variables = { REDIS_URL: storeUrl(), KEY_PREFIX: uniquePrefix(), PORT: "0", ...env };
    // What listens on the port may be another program.
    const options = { cwd: dir, env: variables, contract: false };
    const { code, stdout } = await runCli(["doctor", "--json", ...args], options);
    const { ok, findings } = JSON.parse(stdout) as { ok: boolean; findings: Finding[] };
    expect(code).to.equal(ok ? 0 : 1);
    const level = (check: string) => findings.find((finding) => finding.check === check)?.level;
    const message = (check: string) => findings.find((finding) => finding.check === check)?.message;
    for (const finding of findings) {
      expect(finding.advice !== undefined, `advice: ${finding.message}`).to.equal(finding.level !== "ok");
    }
    return { ok, findings, level, message };
  };

  it("finds nothing wrong with a good store, and says so of each part", async () => {
    const { ok, findings, message } = await examine();
    expect(ok).to.equal(true);
    const checks = ["node", "settings", "handlers", "port", "store", "version", "eviction", "persistence"];
    expect(findings.map(({ check }) => check.replace(/ of .*/, ""))).to.include.members([
      ...checks,
      "memory",
      "clock",
      "latency",
      "index",
    ]);
    expect(message("handlers")).to.match(/\bdefault\b/);
    expect(message("index")).to.equal("nothing is stored yet");
  });

  it("shows findings for a person with marks and advice", async () => {
    const { code, stdout } = await runCli(["doctor"], { cwd: dir, env: { LEASE: "1" } });
    expect(code).to.equal(1);
    expect(stdout).to.match(/^✘ settings {5}LEASE is "1", expected a duration .*\n {15}→ correct it/m);
  });

  it("finds handlers that cannot be loaded, and a port that is taken", async () => {
    writeFileSync(path.join(dir, "broken.mjs"), "throw new Error('no such table');");
    const other = createServer((_, response) => response.end("something else")).listen(0, "127.0.0.1");
    try {
      await new Promise((resolve) => other.once("listening", resolve));
      const { port } = other.address() as AddressInfo;
      const { level, message } = await examine({ HANDLERS: dir, PORT: String(port) });
      expect(level("handlers")).to.equal("error");
      expect(message("handlers")).to.match(/broken\.mjs cannot be loaded: .*no such table/);
      expect(message("port")).to.equal(`127.0.0.1:${port} is taken by another program`);
      const elsewhere = await examine({ HOST: "192.0.2.1", AUTH: "none", PORT: String(port) });
      expect(elsewhere.message("port")).to.equal("192.0.2.1 is not an address of this machine");
    } finally {
      other.close();
    }
  });

  it("recognises a server that runs, and does not disturb it", async () => {
    const server = await startServer();
    writeFileSync(path.join(dir, "queues.json"), '{"other-greet": {}}');
    try {
      const { port } = new URL(server.url);
      const env = { PORT: port, KEY_PREFIX: server.prefix };
      const other = await examine({ ...env, HANDLERS: dir });
      expect(other.level("port")).to.equal("warning");
      expect(other.message("port")).to.match(/and serves .+, not other-greet$/);
      const { ok, message } = await examine({ ...env, HANDLERS: path.join(ROOT, "test/fixtures/handlers") });
      expect(ok).to.equal(true);
      expect(message("port")).to.equal(`a Paihao server listens on 127.0.0.1:${port}, and is ready`);
      expect(message("index")).to.match(/^\d+ tasks and \d+ index entries agree$/);
    } finally {
      await server.stop();
    }
  });

  it("finds an index that disagrees, and repairs it with --heal; and a wrong number of partitions", async () => {
    const t: TestEngine = await openEngine();
    try {
      await t.scripts.claim(t.keys.tag(0), claimOf(t.keys));
      for (const id of ["lost", "kept"]) await t.submit({ id });
      await t.redis.zrem(t.key("waiting"), "lost");
      const env = { KEY_PREFIX: t.keys.prefix };
      const found = await examine(env);
      expect(found.level("index")).to.equal("error");
      expect(found.message("index")).to.equal("1 of 2 tasks and 1 index entries disagree: lost");
      expect((await examine(env, ["--heal"])).message("index")).to.match(
        /^1 of .* disagreed, and were repaired: lost$/,
      );
      expect((await examine(env)).message("index")).to.equal("2 tasks and 2 index entries agree");
      const wide = await examine({ ...env, PARTITIONS: "3" });
      expect(wide.message("partitions")).to.match(/^PARTITIONS is 3, but the store has 1 /);
    } finally {
      await t.close();
    }
  });

  it("finds data of a later release, looks no further and says so", async () => {
    const t: TestEngine = await openEngine();
    try {
      await t.redis.set(t.keys.dataVersion, "99");
      const { level, message, findings } = await examine({ KEY_PREFIX: t.keys.prefix }, ["--heal"]);
      expect(level("data")).to.equal("error");
      expect(message("data")).to.match(/has data of version 99, and this release, .*, works with version/);
      expect(findings.at(-1)?.advice).to.match(/^start the release that wrote it/);
    } finally {
      await t.close();
    }
  });

  it("names a store that cannot be reached", async () => {
    const port = await reservePort();
    const { level, message } = await examine({ REDIS_URL: `redis://127.0.0.1:${port}` });
    expect(level("store")).to.equal("error");
    expect(message("store")).to.include(`127.0.0.1:${port}`).and.include("ECONNREFUSED");
  });

  it("creates nothing where no server has run yet", async () => {
    const { findings, message } = await examine({ REDIS_URL: "", DATA_DIR: path.join(dir, "data") });
    expect(message("store")).to.match(/^(native: .* \(does not exist yet\)|embedded: .* in memory only)$/);
    expect(findings.map(({ check }) => check)).not.to.include("index");
    expect(() => rmSync(path.join(dir, "data"))).to.throw("ENOENT");
  });

  describe("on a native store", () => {
    let redis: PrivateRedis | undefined;
    before(function () {
      if (storeKind() !== "native") this.skip();
    });
    afterEach(() => redis?.stop("SIGKILL"));

    it("starts one of its own data to examine it, but not while a server uses that", async () => {
      const env = { REDIS_URL: "", STORE: "native", DATA_DIR: dir };
      const free = await examine(env);
      expect(free.message("persistence")).to.equal("append-only file");
      expect(free.message("index")).to.equal("nothing is stored yet");
      const lock = await DataLock.take(dir, createLog("silent"));
      try {
        const { ok, message, level } = await examine(env);
        expect(ok).to.equal(true);
        expect(message("store")).to.include(`in use by process ${process.pid}; not examined`);
        expect(level("index")).to.equal(undefined);
      } finally {
        await lock.release();
      }
    });

    it("names eviction, persistence and memory, each with advice", async () => {
      redis = await startRedis({
        args: ["--appendonly", "no", "--maxmemory-policy", "allkeys-lru", "--maxmemory", "1mb"],
      });
      const { ok, level, message } = await examine({ REDIS_URL: redis.url });
      expect(ok).to.equal(false);
      expect(level("eviction")).to.equal("error");
      expect(message("eviction")).to.match(/allkeys-lru/);
      expect(level("persistence")).to.equal("warning");
      expect(["warning", "error"]).to.include(level("memory"));
      expect(message("store")).to.match(/external/);
    });
  });
});

describe("the check of Node", () => {
  it("refuses versions that are too old, warns of those without fixes, and accepts the rest", () => {
    const levels = ["18.20.0", "20.18.3", "20.19.0", "22.0.0", "24.1.0", "26.0.0"].map(
      (version) => checkNode(version).level,
    );
    expect(levels).to.deep.equal(["error", "error", "warning", "ok", "ok", "ok"]);
  });
});
