import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { readKeyFile } from "../../src/auth/key-file.ts";
import { builtCommand } from "../helpers/build.ts";
import { testKeys } from "../helpers/http/api-keys.ts";
import { storeUrl, uniquePrefix } from "../helpers/store/run-store.ts";
import { eventually } from "../shared/eventually.ts";
import { reservePort } from "../shared/ports.ts";

const HASH = "0".repeat(64);

describe("paihao keys", () => {
  let dir: string;
  let file: string;
  beforeEach(() => {
    dir = mkdtempSync(path.join(tmpdir(), "paihao-cli-"));
    file = path.join(dir, "keys");
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  const run = (args: readonly string[], env: Record<string, string> = {}) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [...builtCommand(), "keys", ...args], {
      cwd: dir,
      env: { PATH: process.env.PATH ?? "", ...env },
      encoding: "utf8",
      timeout: 15_000,
    });
    return { status, lines: stdout.split("\n").slice(0, -1), stderr };
  };

  it("create prints the key once, and its line for API_KEYS", () => {
    const { status, lines, stderr } = run(["create", "ci", "--scopes", "submit,read"]);
    expect(status).to.equal(0);
    const [key = "", line] = lines;
    expect(lines).to.have.length(2);
    expect(key).to.match(/^ph_[A-Za-z0-9_-]{43}$/);
    expect(line).to.equal(`ci:submit+read:${createHash("sha256").update(key).digest("hex")}`);
    expect(stderr)
      .to.match(/shown only now/)
      .and.match(/API_KEYS/);
  });

  it("create adds the line to API_KEYS_FILE, --file or .env, and writes the key itself nowhere", () => {
    const [first = ""] = run(["create", "a", "--scopes", "work"], { API_KEYS_FILE: "keys" }).lines;
    const second = JSON.parse(run(["create", "b", "--scopes", "admin", "--json", "--file", file]).lines[0] ?? "");
    writeFileSync(path.join(dir, ".env"), "API_KEYS_FILE=keys\n");
    expect(run(["create", "c", "--scopes", "read"]).status).to.equal(0);
    const { keys, faults } = readKeyFile(file);
    expect([keys.map(({ name }) => name), faults]).to.deep.equal([["a", "b", "c"], []]);
    expect(second).to.include({ name: "b", line: readFileSync(file, "utf8").split("\n")[1], file });
    expect(statSync(file).mode & 0o777).to.equal(0o600);
    for (const key of [first, second.key]) expect(readFileSync(file, "utf8")).not.to.contain(key);
  });

  it("create writes a key that expires to a file of its own, which only its owner can read, and to no other", () => {
    const made = run(["create", "shop", "--scopes", "submit", "--expires", "90d", "--file", file, "--out", "shop.key"]);
    expect(made.status, made.stderr).to.equal(0);
    const out = path.join(dir, "shop.key");
    const key = readFileSync(out, "utf8").trim();
    expect(key).to.match(/^ph_[A-Za-z0-9_-]{43}$/);
    expect(statSync(out).mode & 0o777).to.equal(0o600);
    expect(made.lines.join() + made.stderr).to.not.contain(key);
    const [entry] = readKeyFile(file).keys;
    expect(Math.round(((entry?.expiresMs ?? 0) - Date.now()) / 86_400_000)).to.equal(90);
    expect(run(["ls", "--file", file]).lines[0]).to.match(/^shop {2}submit {2}.+ {2}expires \d{4}-\d\d-\d\d$/);
    const again = run(["create", "other", "--scopes", "submit", "--file", file, "--out", "shop.key"]);
    expect([again.status, readFileSync(out, "utf8").trim()], "never another key's file").to.deep.equal([1, key]);
    expect(readKeyFile(file).keys).to.have.lengthOf(1);
  });

  it("create refuses a taken name, an unknown scope and an unwritable file", () => {
    writeFileSync(file, `a:read:${HASH}\n`);
    const wrong: readonly [args: string[], code: number, message: RegExp][] = [
      [["create", "a", "--scopes", "read", "--file", file], 6, /has a key named a already/],
      [["create", "b", "--scopes", "write"], 2, /unknown scope, expected some of submit, read, admin, work/],
      [["create", "no way", "--scopes", "read"], 2, /the name of an API key has 1–64 characters/],
      [["create", "b", "--scopes", "read", "--file", path.join(dir, "nowhere/keys")], 1, /nowhere\/keys: ENOENT/],
      [["create", "b", "--file", file], 2, /required option '--scopes/],
    ];
    for (const [args, code, message] of wrong) {
      const { status, lines, stderr } = run(args);
      expect([status, lines], args.join(" ")).to.deep.equal([code, []]);
      expect(stderr).to.match(message);
    }
    expect(run(["create", "e", "--scopes", "read"], { API_KEYS: `e:read:${HASH}` }).stderr).to.match(
      /API_KEYS has a key named e/,
    );
    expect(readFileSync(file, "utf8")).to.equal(`a:read:${HASH}\n`);
  });

  it("revoke removes a key from the file, or says where it is if it cannot", () => {
    writeFileSync(file, `a:read:${HASH}\nb:read:${HASH}\n`);
    expect(run(["revoke", "a", "--file", file]).status).to.equal(0);
    expect(readKeyFile(file).keys.map(({ name }) => name)).to.deep.equal(["b"]);
    expect(run(["revoke", "a", "--file", file])).to.include({
      status: 3,
      stderr: `paihao: ${file} has no key named a\n`,
    });
    expect(run(["revoke", "a"]).stderr).to.match(/expected --file, or API_KEYS_FILE/);
    expect(run(["revoke", "e"], { API_KEYS: `e:read:${HASH}` }).stderr).to.match(/e is in API_KEYS: remove it there/);
  });

  it("ls lists names, scopes and sources, and never a hash", () => {
    writeFileSync(file, `longer:submit+read:${HASH}\n# old:read:${HASH}\nbroken\n`);
    const env = { API_KEYS: `e:admin:${HASH}`, API_KEYS_FILE: file };
    const { lines, stderr } = run(["ls"], env);
    expect(lines).to.deep.equal(["e       admin  API_KEYS", `longer  submit+read  ${file}`]);
    expect(stderr).to.equal(`paihao: ${file}, line 3: an API key has three parts, separated by colons\n`);
    expect(JSON.parse(run(["ls", "--json"], env).lines[0] ?? "")).to.deep.equal([
      { name: "e", scopes: ["admin"], from: "API_KEYS" },
      { name: "longer", scopes: ["submit", "read"], from: file },
    ]);
  });

  it("take effect in a running server, at once with SIGHUP, which does not end it; it tells ls when each was used", async () => {
    const keys = testKeys({ ann: ["read"], bob: ["read"], root: ["admin"] });
    writeFileSync(file, `${keys.lines[0]}\n${keys.lines[2]}\n`);
    const port = await reservePort();
    const env = { PATH: process.env.PATH, REDIS_URL: storeUrl(), KEY_PREFIX: uniquePrefix(), API_KEYS_FILE: file };
    const server: ChildProcess = spawn(process.execPath, [...builtCommand(), "start", "--port", String(port)], {
      cwd: dir,
      env: { ...env, ROLE: "api" },
      stdio: ["ignore", "ignore", "pipe"],
    });
    const status = async (name: "ann" | "bob") =>
      (await fetch(`http://127.0.0.1:${port}/v1/queues`, { headers: keys.as(name) })).status;
    try {
      await eventually(async () => (await status("ann")) === 200);
      expect(await status("bob")).to.equal(401);
      appendFileSync(file, `${keys.lines[1]}\n`);
      server.kill("SIGHUP");
      await eventually(async () => (await status("bob")) === 200);
      expect(server.exitCode).to.equal(null);
      const asked = (name: "root" | "bob", more: readonly string[] = []) =>
        run(["ls", ...more], {
          PAIHAO_URL: `http://127.0.0.1:${port}`,
          PAIHAO_KEY: String(keys.as(name).Authorization?.slice("Bearer ".length)),
        });
      await eventually(() => asked("root", ["--file", file]).lines.every((line) => !line.endsWith("never used")));
      for (const line of asked("root", ["--file", file]).lines)
        expect(line).to.match(/^\w+ +\w+ {2}\S+keys {2}last used \d{4}-\d\d-\d\d \d\d:00 UTC$/);
      expect(asked("root").lines[0], "of the server alone").to.match(
        /^ann {3}read {2}http:\S+ {2}last used \d{4}-\d\d-\d\d \d\d:00 UTC$/,
      );
      const refused = asked("bob", ["--file", file]);
      expect([refused.status, refused.lines[0]]).to.deep.equal([0, `ann   read  ${file}`]);
      expect(refused.stderr).to.match(/when keys were last used is not shown: .*scope admin/);
    } finally {
      server.kill("SIGTERM");
      if (server.exitCode === null) await once(server, "exit");
    }
  });
});
