import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { Redis } from "ioredis";
import { parse } from "yaml";
import { needsRedisServer } from "../cluster/needs.ts";
import { withDefaults } from "../shared/compose-defaults.ts";
import { eventually } from "../shared/eventually.ts";
import { ROOT } from "../shared/root.ts";

const { services } = parse(withDefaults(readFileSync(path.join(ROOT, "deploy/compose/sentinel.yaml"), "utf8")), {
  merge: true,
});
const SERVERS: Readonly<Record<string, number>> = { redis: 10, "redis-replica-1": 11, "redis-replica-2": 12 };
const SENTINELS: Readonly<Record<string, number>> = { "sentinel-1": 21, "sentinel-2": 22, "sentinel-3": 23 };

describe("deploy/compose/sentinel.yaml, with its commands run on loopback addresses", function () {
  this.timeout(120_000);
  // Of the network of the file; unlikely to be used by anything else on this machine.
  const network = `127.${process.pid % 250}.250.`;
  const dir = mkdtempSync(path.join(tmpdir(), "paihao-sentinels-"));
  const running = new Map<string, ChildProcess>();
  const clients = new Map<string, Redis>();
  /** A client that finds a restarted server again. */
  const at = (address: string, port = 6379): Redis => {
    const known = clients.get(address);
    if (known) return known;
    const redis = new Redis(port, address, { retryStrategy: () => 200, commandTimeout: 2000 });
    redis.on("error", () => undefined);
    clients.set(address, redis);
    return redis;
  };

  before(async function () {
    await needsRedisServer(this);
    process.once("exit", () => {
      for (const child of running.values()) child.kill("SIGKILL");
    });
  });
  after(async () => {
    for (const redis of clients.values()) redis.disconnect();
    for (const name of running.keys()) await end(name, "SIGKILL");
    rmSync(dir, { recursive: true });
  });

  async function start(name: string): Promise<void> {
    const data = path.join(dir, name);
    mkdirSync(data, { recursive: true });
    const address = `${network}${SERVERS[name] ?? SENTINELS[name]}`;
    const [, , script] = services[name].command as [string, string, string];
    const here = script
      .replaceAll("172.31.250.", network)
      .replaceAll("/data", data)
      // In Docker each container has an address of its own.
      .replace(
        /exec redis-server .*/,
        (line) => `${line} --bind ${address} --bind-source-addr ${address} --protected-mode no`,
      )
      .replace("down-after-milliseconds mymaster 5000", "down-after-milliseconds mymaster 3000")
      .replace("failover-timeout mymaster 30000", "failover-timeout mymaster 3000");
    const child = spawn("sh", ["-c", here], { stdio: "ignore" });
    await once(child, "spawn");
    running.set(name, child);
    await eventually(() => at(address, name in SERVERS ? 6379 : 26379).ping());
  }

  async function end(name: string, signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    const child = running.get(name);
    running.delete(name);
    // A replica that is still writing its first append-only file refuses to end: it is asked again.
    await eventually(() => {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
      child.kill(signal);
      return false;
    });
  }

  /** Starts them in the order of the file: each waits until those it depends on are healthy. */
  async function up(): Promise<void> {
    await start("redis");
    await Promise.all(["redis-replica-1", "redis-replica-2", ...Object.keys(SENTINELS)].map(start));
  }

  const ask = (...command: [string, ...string[]]) =>
    at(`${network}${SENTINELS["sentinel-1"]}`, 26379).call("SENTINEL", ...command) as Promise<string[]>;
  const primary = async () => (await ask("GET-MASTER-ADDR-BY-NAME", "mymaster"))[0] ?? "";

  it("keeps the result of a failover, and later writes, when everything is restarted", async () => {
    await up();
    await eventually(async () => {
      const fields = await ask("MASTER", "mymaster");
      const of = (field: string) => Number(fields[fields.indexOf(field) + 1]);
      return of("num-slaves") === 2 && of("num-other-sentinels") === 2;
    });
    const first = await primary();
    expect(first).to.equal(`${network}${SERVERS.redis}`);
    await end("redis", "SIGKILL");
    await eventually(async () => (await primary()) !== first);
    // Where the machine has much to do another failover may follow.
    await eventually(async () => {
      const heir = at(await primary());
      await heir.set("after the failover", "1");
      expect(await heir.wait(1, 1000)).to.equal(1);
    });

    await Promise.all([...running.keys()].map((name) => end(name)));
    await up();
    await eventually(async () => {
      expect(await at(await primary()).get("after the failover")).to.equal("1");
      expect((await at(first).role())[0], "the role of the old primary").to.equal("slave");
      expect(await at(first).get("after the failover")).to.equal("1");
    });
  });
});
