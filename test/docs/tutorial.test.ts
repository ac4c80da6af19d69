import { execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { testKeys } from "../helpers/http/api-keys.ts";
import { startServer } from "../helpers/http/server.ts";
import { eventually } from "../shared/eventually.ts";
import { reservePort } from "../shared/ports.ts";
import { startRedis } from "../shared/redis-server.ts";
import { ROOT } from "../shared/root.ts";
import { readGuide, runGuide } from "./guide.ts";

const GUIDE = "tutorial.md";
const run = async (program: string, args: readonly string[]) => (await promisify(execFile)(program, args)).stdout;
const has = (program: string, ...args: string[]) => spawnSync(program, args).status === 0;

/** The first block of the guide that begins with this text. */
function blockOf(beginning: string): string {
  const block = [...readGuide(GUIDE).matchAll(/^```\w*\n(.*?)^```/gms)].find(([, text]) => text?.startsWith(beginning));
  if (block?.[1] === undefined) throw new Error(`${GUIDE} has no block that begins with ${beginning}`);
  return block[1];
}

/** Steps that need a part which the machine lacks are skipped. */
describe("docs/tutorial.md", function () {
  this.timeout(120_000);
  let dir = "";
  beforeEach(() => {
    dir = mkdtempSync(path.join(tmpdir(), "paihao-tutorial-"));
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  it("makes a PDF of a page by its handler, and two keys", async function () {
    if (!has("chromium", "--version")) this.skip();
    await runGuide(GUIDE);
  });

  it("has a project that the units of deploy/systemd start", function () {
    if (!has("systemd-analyze", "--version")) this.skip();
    const units = path.join(ROOT, "deploy/systemd");
    // The program and its user are those of the reader's machine.
    const settings = blockOf("[Service]").replace(/^ExecStart=\/\S+/m, `ExecStart=${process.execPath}`);
    for (const [template, name] of [
      ["paihao-api", "paihao-api"],
      ["paihao-worker@", "paihao-worker@1"],
    ]) {
      const unit = path.join(dir, `${name}.service`);
      writeFileSync(unit, readFileSync(path.join(units, `${template}.service`)));
      mkdirSync(`${unit}.d`);
      writeFileSync(path.join(`${unit}.d`, "project.conf"), settings);
      const { stderr } = spawnSync("systemd-analyze", ["verify", "--recursive-errors=no", unit], { encoding: "utf8" });
      expect(stderr).to.equal("");
    }
  });

  it("serves the API over TLS by Caddy: with keys, links as callers use them, and events as they come", async function () {
    if (!has("caddy", "version")) this.skip();
    const keys = testKeys({ shop: ["submit"] });
    const server = await startServer({ ...keys.env, TRUST_PROXY: "true" });
    const port = await reservePort();
    const proxied = blockOf("pdf.example.com")
      .replace("pdf.example.com", `https://localhost:${port}`)
      .replace("127.0.0.1:3000", new URL(server.url).host);
    const local = "{\n\tadmin off\n\tauto_https disable_redirects\n\tlocal_certs\n\tskip_install_trust\n}\n";
    writeFileSync(path.join(dir, "Caddyfile"), local + proxied);
    const env = { ...process.env, HOME: dir, XDG_DATA_HOME: dir, XDG_CONFIG_HOME: dir };
    const caddy = spawn("caddy", ["run", "--config", path.join(dir, "Caddyfile")], { env, stdio: "ignore" });
    const gone = once(caddy, "exit");
    // Not synchronously, since the server is in this process.
    const curl = (...args: string[]) => run("curl", ["-sk", "--max-time", "20", ...args]).catch(() => "");
    const url = `https://localhost:${port}`;
    try {
      await eventually(async () => (await curl(`${url}/healthz`)).includes("ok"));
      const key = ["-H", `Authorization: ${keys.as("shop").Authorization}`];
      const json = ["-H", "Content-Type: application/json", "-d", '{"seconds":0}'];
      const answer = await curl("-i", ...key, ...json, "-H", "Prefer: respond-async", `${url}/v1/requests`);
      expect(answer).to.include(" 202 ").and.include(`operation-location: ${url}/v1/requests/`);
      const [, id = ""] = /x-request-id: (\S+)/.exec(answer) ?? [];
      expect(await curl(...key, "-H", "Accept: text/event-stream", `${url}/v1/requests/${id}/events`)).to.include(
        "event: done",
      );
      expect(await curl(...json, `${url}/v1/requests`)).to.include("unauthenticated");
    } finally {
      caddy.kill("SIGTERM");
      await gone;
      await server.stop();
    }
  });

  it("has a backup that Redis can read", async function () {
    if (!has("redis-server", "--version")) this.skip();
    const redis = await startRedis();
    const command = blockOf("redis-cli")
      .trim()
      .replace("/var/backups", dir)
      .replace("redis-cli", `redis-cli -u ${redis.url}`);
    await run("sh", ["-c", command]).finally(() => redis.stop());
    const [file = ""] = execFileSync("ls", [dir], { encoding: "utf8" }).trim().split("\n");
    expect(file).to.match(/^paihao-\d{4}-\d\d-\d\d\.rdb$/);
    expect(execFileSync("redis-check-rdb", [path.join(dir, file)], { encoding: "utf8" })).to.include("RDB looks OK");
    expect(readFileSync(path.join(dir, file)).subarray(0, 5).toString()).to.equal("REDIS");
  });
});
