import { createHash } from "node:crypto";
import { appendFileSync, chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { type ApiKey, findKey, formatApiKey, isExpired, makeKey, parseApiKey } from "../../src/auth/api-key.ts";
import { appendKey, parseKeyFile, readKeyFile, revokeKey } from "../../src/auth/key-file.ts";
import { KeyRing, LOOK_MS } from "../../src/auth/key-ring.ts";
import { StartError } from "../../src/errors.ts";
import { recordingLog } from "../helpers/recording-log.ts";

const HASH = "0f".repeat(32);
const names = (keys: readonly ApiKey[]) => keys.map(({ name }) => name);

describe("an API key", () => {
  it("is 32 random bytes after a prefix that scanners recognise, and is stored only as its SHA-256", () => {
    const { key, entry } = makeKey("ci", new Set(["submit", "read"]));
    expect(key).to.match(/^ph_[A-Za-z0-9_-]{43}$/);
    expect(formatApiKey(entry)).to.equal(`ci:submit+read:${createHash("sha256").update(key).digest("hex")}`);
    expect(makeKey("ci", new Set(["work"])).key).not.to.equal(key);
  });

  it("can be read back from its line", () => {
    const { entry } = makeKey("ops.eu-1", new Set(["admin"]));
    expect(parseApiKey(` ${formatApiKey(entry)} `)).to.deep.equal(entry);
  });

  it("has a name of its form, known scopes and a whole hash, or is refused", () => {
    const refused = (line: string, reason: string) =>
      expect(() => parseApiKey(line), line).to.throw(StartError, reason);
    refused(`ci:submit:${HASH}:more`, "the key ci has no time such as 20270301T120000Z");
    refused(`ci:submit:${HASH}:20271301T120000Z`, "the key ci has no time");
    refused(`ci:submit:${HASH}:20270301T120000Z:more`, "three parts");
    for (const name of ["", "-ci", "a b", "ph_ci", "a".repeat(65)]) {
      refused(`${name}:submit:${HASH}`, "1–64 characters");
      expect(() => makeKey(name, new Set(["read"])), name).to.throw(StartError, "1–64 characters");
    }
    for (const hex of ["", HASH.slice(1), `0${HASH}`, `${HASH}0`, `x${HASH.slice(1)}`])
      refused(`ci:submit:${hex}`, "the key ci has no SHA-256 of 64 hexadecimal digits");
    refused(`ci:submit+own:${HASH}`, "the key ci has an unknown scope, expected some of submit, read");
    expect([...parseApiKey(`ci: submit + read :${HASH}`).scopes]).to.deep.equal(["submit", "read"]);
  });

  it("may expire, and is refused from then on", () => {
    const expiresMs = Date.UTC(2027, 2, 1, 12);
    const { entry } = makeKey("ci", new Set(["submit"]), expiresMs);
    expect(formatApiKey(entry)).to.match(/^ci:submit:[0-9a-f]{64}:20270301T120000Z$/);
    expect(parseApiKey(formatApiKey(entry))).to.deep.equal(entry);
    expect([isExpired(entry, expiresMs - 1), isExpired(entry, expiresMs)]).to.deep.equal([false, true]);
    const { key, entry: old } = makeKey("old", new Set(["submit"]), 1000);
    const ring = new KeyRing([old], undefined, { log: recordingLog().log });
    expect(ring.find(key)).to.equal(undefined);
    expect(ring.refusalOf(key)).to.equal("old has expired");
    const beginning = createHash("sha256").update("ph_x").digest("hex").slice(0, 8);
    expect(ring.refusalOf("ph_x")).to.equal(`unknown, its hash begins with ${beginning}`);
  });

  it("matches only in full", () => {
    const made = ["a", "b", "c"].map((name) => makeKey(name, new Set(["read"])));
    const entries = made.map(({ entry }) => entry);
    for (const { key, entry } of made) {
      expect(findKey(entries, key)).to.equal(entry);
      for (const wrong of [key.slice(0, -1), `${key}A`, key.toUpperCase(), "", entry.hash.toString("hex")]) {
        expect(findKey(entries, wrong), wrong).to.equal(undefined);
      }
    }
  });
});

describe("a file of keys", () => {
  let dir: string;
  let file: string;
  const key = (name: string) => makeKey(name, new Set(["submit"]));

  beforeEach(() => {
    dir = mkdtempSync(path.join(tmpdir(), "paihao-keys-"));
    file = path.join(dir, "keys");
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  it("has one key per line, and may have comments and empty lines", () => {
    const { keys, faults } = parseKeyFile(`# keys\n\nci:submit:${HASH}\r\n  ops:admin+work:${HASH}\n#old:read:${HASH}`);
    expect(names(keys)).to.deep.equal(["ci", "ops"]);
    expect(faults).to.deep.equal([]);
  });

  it("reports invalid lines with the reason but not their content, and keeps the other keys", () => {
    const { keys, faults } = parseKeyFile(`ci:submit:hunter2\nops:admin:${HASH}\nops:read:${HASH}\nhunter3 is it`);
    expect(names(keys)).to.deep.equal(["ops"]);
    expect(faults).to.deep.equal([
      "line 1: the key ci has no SHA-256 of 64 hexadecimal digits as its third part",
      "line 3: a second key is named ops",
      "line 4: an API key has three parts, separated by colons",
    ]);
  });

  it("is created readable by its owner only, and each key appends a line", () => {
    appendKey(file, key("a").entry);
    expect(statSync(file).mode & 0o777).to.equal(0o600);
    appendFileSync(file, "# without a line break");
    appendKey(file, key("b").entry);
    expect(names(readKeyFile(file).keys)).to.deep.equal(["a", "b"]);
    expect(() => appendKey(file, key("a").entry)).to.throw(StartError, /has a key named a already/);
  });

  it("is readable by its owner only from the first key that is added, even if others could read it before", () => {
    writeFileSync(file, `old:read:${HASH}`);
    chmodSync(file, 0o644);
    appendKey(file, key("ci").entry);
    expect(statSync(file).mode & 0o777).to.equal(0o600);
    expect(names(readKeyFile(file).keys)).to.deep.equal(["old", "ci"]);
  });

  it("loses a key whose line begins with spaces, and no line of it becomes longer", () => {
    writeFileSync(file, `  a:read:${HASH}\nb:read:${HASH}\n`);
    expect(revokeKey(file, "a")).to.equal(true);
    expect(names(readKeyFile(file).keys)).to.deep.equal(["b"]);
    expect(readFileSync(file, "latin1").length).to.equal(`  a:read:${HASH}\nb:read:${HASH}\n`.length);
  });

  it("is overwritten in place when a key is revoked, so that no other key is missing for a moment", () => {
    for (const name of ["a", "b", "c"]) appendKey(file, key(name).entry);
    writeFileSync(file, `# 排号\n${readFileSync(file, "utf8")}`);
    chmodSync(file, 0o640);
    const before = statSync(file);
    expect(revokeKey(file, "b")).to.equal(true);
    expect(names(readKeyFile(file).keys)).to.deep.equal(["a", "c"]);
    expect(readFileSync(file, "utf8")).to.match(/^# 排号\na:.*\n# revoked: b +\nc:/);
    expect(statSync(file)).to.include({ size: before.size, ino: before.ino, mode: before.mode });
    expect(revokeKey(file, "b")).to.equal(false);
    appendKey(file, key("b").entry);
    expect(names(readKeyFile(file).keys)).to.deep.equal(["a", "c", "b"]);
  });

  describe("in use by a running server", () => {
    let now = 0;
    let log: ReturnType<typeof recordingLog>;
    const ring = (fixed: readonly ApiKey[] = []) => new KeyRing(fixed, file, { log: log.log, now: () => now });

    beforeEach(() => {
      now = 0;
      log = recordingLog();
    });

    it("is checked again after a second, and not before", () => {
      const [a, b] = [key("a"), key("b")];
      appendKey(file, a.entry);
      const keys = ring();
      appendKey(file, b.entry);
      revokeKey(file, "a");
      now = LOOK_MS - 1;
      expect([keys.find(a.key)?.name, keys.find(b.key)?.name]).to.deep.equal(["a", undefined]);
      now = LOOK_MS;
      expect([keys.find(a.key)?.name, keys.find(b.key)?.name]).to.deep.equal([undefined, "b"]);
    });

    it("is read at once on SIGHUP", () => {
      const [a, b] = [key("a"), key("b")];
      appendKey(file, a.entry);
      const keys = ring();
      appendKey(file, b.entry);
      keys.reload();
      expect(keys.find(b.key)?.name).to.equal("b");
    });

    it("skips an invalid line with a warning, and the other keys still work", () => {
      const [a, b] = [key("a"), key("b")];
      appendKey(file, a.entry);
      const keys = ring([b.entry]);
      appendFileSync(file, `half a li\n${formatApiKey({ ...a.entry, name: "b" })}\n`);
      keys.reload();
      expect([keys.find(a.key)?.name, keys.find(b.key)?.name]).to.deep.equal(["a", "b"]);
      expect(log.messages).to.include.members([
        "keys: skipped a line of API_KEYS_FILE that is not a key",
        "keys: skipped a key of API_KEYS_FILE whose name is in API_KEYS too",
      ]);
    });

    it("revokes its keys if it is removed, but not those of API_KEYS", () => {
      const [a, b] = [key("a"), key("b")];
      appendKey(file, a.entry);
      const keys = ring([b.entry]);
      rmSync(file);
      now = LOOK_MS;
      expect([keys.find(a.key), keys.find(b.key)?.name]).to.deep.equal([undefined, "b"]);
      now = 2 * LOOK_MS;
      keys.find(a.key);
      expect(log.messages).to.deep.equal(["keys: could not read API_KEYS_FILE"]);
      appendKey(file, a.entry);
      now = 3 * LOOK_MS;
      expect(keys.find(a.key)?.name).to.equal("a");
    });

    it("prevents the start if it is missing, invalid, or repeats a name", () => {
      const where = `^API_KEYS_FILE is "${file}", `;
      expect(() => ring()).to.throw(StartError, new RegExp(`${where}expected a file to read: ENOENT`));
      writeFileSync(file, "hunter2");
      expect(() => ring()).to.throw(StartError, new RegExp(`${where}line 1: an API key has three parts`));
      writeFileSync(file, formatApiKey(key("a").entry));
      expect(() => ring([key("a").entry])).to.throw(StartError, "two keys are named a");
    });
  });
});
