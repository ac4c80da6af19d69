import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { Redis } from "ioredis";
import { parse } from "yaml";
import { verifyStore } from "../../src/engine/upkeep/verify.ts";
import { createLog } from "../../src/log.ts";
import { needsRedisServer } from "../cluster/needs.ts";
import { readGuide } from "../docs/guide.ts";
import { startServer } from "../helpers/http/server.ts";
import { withDefaults } from "../shared/compose-defaults.ts";
import { type PrivateRedis, startRedis } from "../shared/redis-server.ts";
import { ROOT } from "../shared/root.ts";

const { services } = parse(withDefaults(readFileSync(path.join(ROOT, "compose.yaml"), "utf8")), { merge: true });
const [, ...ARGS] = services.redis.command as string[];

/** The commands that docs/operations.md shows for Compose: to take a snapshot, to bring it back, to repair an append-only file. */
const shown = () =>
  [...readGuide("operations.md").matchAll(/^```console\n(.*?)^```/gms)].map(([, block = ""]) =>
    block.trim().split("\n"),
  );

/** What Docker does with the commands that are shown, without it: the container's directory is `$DATA`. */
const DOCKER = `
redis-cli() { command redis-cli -p "$PORT" "$@"; }
docker() {
  case "$2" in
    exec) shift 3; "$@" ;;
    cp) cp "\${3#redis:}" "$4" ;;
    run) shift 5; (cd "$DATA" && "$@") ;;
    *) return 1 ;;
  esac
}`;

describe("the Redis of compose.yaml, with the commands of docs/operations.md", function () {
  this.timeout(120_000);
  let server: PrivateRedis;
  let folder: string;
  const admins: Redis[] = [];
  before(async function () {
    await needsRedisServer(this);
  });
  beforeEach(async () => {
    folder = mkdtempSync(path.join(tmpdir(), "paihao-files-"));
    server = await startRedis({ args: ARGS });
  });
  afterEach(async () => {
    for (const admin of admins.splice(0)) admin.disconnect();
    await server.stop("SIGKILL");
    rmSync(folder, { recursive: true });
  });

  const admin = () => {
    const redis = new Redis(server.port, "127.0.0.1", { retryStrategy: () => 100 });
    redis.on("error", () => undefined);
    admins.push(redis);
    return redis;
  };
  const inData = (name: string) => path.join(server.dir, name);
  const run = async (lines: readonly string[] = []) => {
    expect(lines).to.have.length.above(1);
    for (const line of lines) {
      if (line === "docker compose stop") await server.stop();
      else if (line === "docker compose up -d") await server.restart();
      else await inShell(line.replaceAll("/data/", `${server.dir}/`));
    }
  };
  const inShell = async (line: string) => {
    const child = spawn("bash", ["-c", `${DOCKER}\n${line}`], {
      cwd: folder,
      env: { PATH: process.env.PATH, PORT: String(server.port), DATA: server.dir },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let printed = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (printed += text));
    const [code] = await once(child, "close");
    expect(code, `${line}\n${printed}`).to.equal(0);
  };

  it("restores a snapshot that was taken while servers worked, which it would not load by itself, and the tasks go on", async () => {
    const [take, giveBack] = shown();
    const env = { REDIS_URL: server.url, KEY_PREFIX: "restored", PARTITIONS: "2" };
    const first = await startServer(env);
    const done = await first.post("default", { seconds: 0 });
    expect(done.status).to.equal(200);
    await first.send("/v1/queues/default/pause", { method: "POST" });
    const ids: string[] = [];
    for (let n = 0; n < 20; n += 1) ids.push(await first.enqueue("default", { seconds: 0 }));
    await run(take);
    await first.stop();
    await admin().set("later", 1);

    await server.stop();
    rmSync(inData("appendonlydir"), { recursive: true });
    copyFileSync(path.join(folder, "copy.rdb"), inData("dump.rdb"));
    await server.restart();
    expect(await admin().dbsize(), "as the document warns").to.equal(0);

    await run(giveBack);
    expect(await verifyStore(server.url, env.KEY_PREFIX, { heal: false }, createLog("silent"))).to.deep.include({
      ...{ tasks: 21, disagreeing: [] },
    });
    const second = await startServer(env);
    const places = await Promise.all(ids.map((id) => second.send(`/v1/requests/${id}/status`)));
    expect(places.map(({ json }) => json.index)).to.deep.equal([...ids.keys()]);
    await second.send("/v1/queues/default/resume", { method: "POST" });
    for (const id of ids) await second.until(id, "succeeded");
    const kept = await second.send(`/v1/requests/${done.headers["x-request-id"]}`);
    expect(kept.text).to.equal(done.text);
    await second.stop({ keep: true });
    await server.restart();
    expect(await admin().exists("{restored:0}version"), "it is durable again").to.equal(1);
  });

  it("starts again with a repaired append-only file", async () => {
    const [, , repair] = shown();
    await admin().set("before", "1");
    await server.stop();
    const last = readdirSync(inData("appendonlydir")).find((name) => name.endsWith(".incr.aof")) ?? "";
    appendFileSync(path.join(inData("appendonlydir"), last), "*3\r\n$3\r\nSET\r\n\0\0\0\0\0\0\0\0\0\0");
    const refused = await server.restart().catch((error: Error) => error.message);
    expect(refused).to.match(/ended at once/);
    await run(repair);
    expect(await admin().get("before")).to.equal("1");
  });
});
