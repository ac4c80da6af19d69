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

const { services } = parse(withDefaults(readFileSync(path.join(ROOT, "deploy/compose/cluster.yaml"), "utf8")), {
  merge: true,
});
const NODES = Object.keys(services).filter((name) => services[name].networks !== undefined);
const PATIENCE_MS = 60_000;

describe("deploy/compose/cluster.yaml, with its commands run on loopback addresses", function () {
  this.timeout(4 * PATIENCE_MS);
  // Of the network of the file; unlikely to be used by anything else on this machine.
  const network = `127.${process.pid % 250}.251.`;
  const here = (text: string) => text.replaceAll("172.31.251.", network);
  const addressOf = (name: string) => here(services[name].networks.default.ipv4_address as string);
  const dir = mkdtempSync(path.join(tmpdir(), "paihao-cluster-"));
  const running = new Map<string, ChildProcess>();
  const clients = new Map<string, Redis>();
  /** A client that finds a restarted node again. */
  const at = (name: string): Redis => {
    const known = clients.get(name);
    if (known) return known;
    const redis = new Redis(6379, addressOf(name), { retryStrategy: () => 200, commandTimeout: 2000 });
    redis.on("error", () => undefined);
    clients.set(name, redis);
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
    for (const name of [...running.keys()]) await end(name, "SIGKILL");
    rmSync(dir, { recursive: true });
  });

  async function start(name: string): Promise<void> {
    const data = path.join(dir, name);
    mkdirSync(data, { recursive: true });
    const [program, ...args] = services[name].command as [string, ...string[]];
    const own = args.map((arg) => (arg === "/data" ? data : arg));
    // In Docker each container has an address of its own, and the image has no protected mode.
    const bound = ["--bind", addressOf(name), "--bind-source-addr", addressOf(name), "--protected-mode", "no"];
    const child = spawn(program, [...own, ...bound], { stdio: "ignore" });
    await once(child, "spawn");
    running.set(name, child);
    await eventually(() => at(name).ping(), PATIENCE_MS);
  }

  async function end(name: string, signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    const child = running.get(name);
    running.delete(name);
    // One that is still writing its first append-only file refuses to end: it is asked again.
    await eventually(() => {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
      child.kill(signal);
      return false;
    }, PATIENCE_MS);
  }

  /** Starts everything in the order of the file; returns the exit code of what makes the cluster, and what it said. */
  async function up(): Promise<{ code: number | null; said: string }> {
    await Promise.all(NODES.filter((name) => !running.has(name)).map(start));
    const [program, flag, script] = services["redis-cluster"].command as [string, string, string];
    const child = spawn(program, [flag, here(script).replaceAll("$$", "$")], { stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk: Buffer) => {
        said += chunk;
      });
    }
    const [code] = (await once(child, "close")) as [number | null];
    return { code, said };
  }

  /** The ids of the masters and of the replicas, as the first node sees them. */
  async function roles(): Promise<{ masters: string[]; replicas: string[] }> {
    const lines = String(await at("redis-2").cluster("NODES"))
      .trim()
      .split("\n");
    const of = (role: string) =>
      lines.flatMap((line) => (line.split(" ")[2]?.includes(role) ? [line.slice(0, 40)] : []));
    return { masters: of("master").sort(), replicas: of("slave").sort() };
  }

  it("makes a cluster once, which outlasts a restart, and whose replicas take over", async () => {
    const first = await up();
    expect(first.code, first.said).to.equal(0);
    await eventually(async () => {
      const { masters, replicas } = await roles();
      expect([masters.length, replicas.length]).to.deep.equal([3, 3]);
    }, PATIENCE_MS);
    const made = await roles();

    const again = await up();
    expect(again.code, again.said).to.equal(0);
    expect(again.said).to.equal("");
    expect(await roles()).to.deep.equal(made);

    const key = "{ph:0}kept";
    /** Resolves once a replica has what is written. */
    const written = () =>
      eventually(async () => {
        const [owner] = await ownerOf(key);
        await at(owner).set(`${key} too`, "1");
        expect(await at(owner).wait(1, 1000)).to.equal(1);
      }, PATIENCE_MS);
    await at((await ownerOf(key))[0]).set(key, "1");
    await written();
    await Promise.all([...running.keys()].map((name) => end(name)));
    const restarted = await up();
    expect(restarted.code, restarted.said).to.equal(0);
    await eventually(async () => expect(await at((await ownerOf(key))[0]).get(key)).to.equal("1"), PATIENCE_MS);

    // A replica that has not followed since its start does not take over.
    await written();
    const [lost, slot] = await ownerOf(key);
    await end(lost, "SIGKILL");
    const [witness = ""] = NODES.filter((name) => name !== lost);
    await eventually(async () => {
      const [heir] = await ownerOf(key, witness);
      expect(heir, `the master of slot ${slot}`).not.to.equal(lost);
      expect(await at(heir).get(key)).to.equal("1");
    }, PATIENCE_MS);
  });

  /** The node that has the slot of a key, and the slot. */
  async function ownerOf(key: string, witness = "redis-2"): Promise<[name: string, slot: number]> {
    const slot = Number(await at(witness).cluster("KEYSLOT", key));
    const slots = await at(witness).cluster("SLOTS");
    const address = slots.find(([from, to]) => slot >= from && slot <= to)?.[2]?.[0];
    const name = NODES.find((one) => addressOf(one) === address);
    if (name === undefined) throw new Error(`nobody has slot ${slot}`);
    return [name, slot];
  }
});
