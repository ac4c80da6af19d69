import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { expect } from "chai";
import { readConfig } from "../../../src/config/config.ts";
import { backupStore } from "../../../src/engine/maintenance/backup/backup.ts";
import { restoreStore } from "../../../src/engine/maintenance/backup/restore.ts";
import { verifyStore } from "../../../src/engine/maintenance/verify.ts";
import { openEngine as openReal } from "../../../src/engine/opening/open.ts";
import type { WithInput } from "../../../src/engine/reservation/take.ts";
import { createLog } from "../../../src/log.ts";
import { connect } from "../../../src/store/connection.ts";
import { PubSub } from "../../../src/store/pubsub.ts";
import { startEmbeddedStore } from "../../../src/store/servers/embedded/embedded.ts";
import { failureOf, openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";
import { storeUrl, uniquePrefix } from "../../helpers/store/run-store.ts";
import { keysLike, removeKeys } from "../../helpers/store/scan.ts";
import { eventually } from "../../shared/eventually.ts";

const log = createLog("silent");
const nothing = () => undefined;
/** Longer than a part of a backup, with every byte in it. */
const LARGE = Buffer.alloc(3_000_000, Buffer.from(Array.from({ length: 256 }, (_, n) => n)));

describe("a backup", function () {
  this.timeout(120_000);
  let t: TestEngine;
  let dir: string;
  let file: string;
  let prefix: string;
  const open = async (partitions = 1) => {
    t = await openEngine({ partitions });
    await t.scripts.claim(t.keys.tag(0), partitions);
    await t.scripts.secret(t.keys.tag(0), "a secret");
  };
  beforeEach(() => {
    dir = mkdtempSync(path.join(tmpdir(), "paihao-backup-"));
    file = path.join(dir, "a.backup");
    prefix = uniquePrefix();
  });
  afterEach(async () => {
    rmSync(dir, { recursive: true });
    await t.close();
    await removeKeys(storeUrl(), prefix);
  });

  const backup = (onPart: () => void = nothing) =>
    backupStore({ url: storeUrl(), prefix: t.keys.prefix, file }, log, onPart);
  const restore = (
    to: { prefix?: string; partitions?: number; replace?: boolean; url?: string } = {},
    onPart: () => void = nothing,
  ) =>
    restoreStore({ url: storeUrl(), prefix, partitions: t.keys.partitions, file, replace: false, ...to }, log, onPart);
  const of = (task: WithInput) => ({ ...task, queue: "jobs" });
  /** What the attempt is refused with. */
  const refusal = (attempt: Promise<unknown>) =>
    attempt.then(
      () => "",
      (error: Error) => error.message,
    );

  /** Everything with a prefix: of each key, without its prefix, its type, its content, and whether it expires. */
  const contentOf = async (of: string) => {
    const all = new Map<string, unknown>();
    for (const key of await keysLike(t.redis, `{${of}:*`)) {
      const { redis } = t;
      const type = await redis.type(key);
      const [list, hash, zset, text] = [
        type === "list" ? (await redis.lrangeBuffer(key, 0, -1)).map((one) => one.toString("latin1")) : "",
        type === "hash" ? await redis.hgetallBuffer(key) : "",
        type === "zset" ? await redis.zrange(key, 0, "-1", "WITHSCORES") : "",
        type === "string" ? (await redis.getBuffer(key))?.toString("latin1") : "",
      ];
      all.set(key.replace(of, ""), { type, list, hash, zset, text, expires: (await redis.pttl(key)) > 0 });
    }
    return all;
  };
  /** Of workers there is nothing in a backup. */
  const kept = (all: Map<string, unknown>) => [...all].filter(([key]) => !/}(j:|k:|ab:|a:|wk:)/.test(key)).sort();

  /** Tasks in every state, with everything that a task may have. */
  const fill = async () => {
    await t.submit({ id: "done" });
    await t.submit({ id: "done-large" });
    await t.submit({ id: "dead", input: LARGE, mediaType: "application/octet-stream" });
    await t.submit({ id: "retrying" });
    await t.submit({
      id: "runs",
      input: LARGE,
      mediaType: "application/octet-stream",
      webhook: "https://example.com/told",
    });
    const [done, large, dead, retrying] = await t.reserve(5);
    if (!done || !large || !dead || !retrying) throw new Error("nothing was reserved");
    await t.engine.leases.complete(of(done), resultOf("fertig ✓"), t.settings);
    await t.engine.leases.complete(of(large), { ...resultOf(""), body: LARGE }, t.settings);
    await t.engine.leases.fail(of(dead), failureOf("give-up"), t.settings);
    await t.engine.leases.fail(of(retrying), failureOf("retry", 60_000), t.settings);
    await t.redis.hset(t.key("steps", "runs"), "schritt ü", Buffer.from([0, 255, 10, 13]));
    await t.redis.rpush(t.key("output", "runs"), "1 1 {}", "1 1 {}", Buffer.from([0xff, 0x0a]));
    for (const id of ["first", "second", "urgent"]) await t.submit({ id, priority: id === "urgent" ? 0 : 3 });
    await t.submit({ id: "later", delayMs: 3_600_000, deadlineMs: 7_200_000 });
    await t.submit({ id: "named", caller: "Zoë", input: '"排号"', trace: `00-${"1".repeat(32)}-${"2".repeat(16)}-01` });
  };

  it("has lists of any length in their order", async () => {
    await open();
    const list = (of: string) => t.redis.lrange(`{${of}:0}gm:g`, 0, -1);
    await t.redis.rpush(t.key("members", "g"), ...Array.from({ length: 2500 }, (_, n) => `${n} task-${n}`));
    await backup();
    await restore();
    expect(await list(prefix))
      .to.deep.equal(await list(t.keys.prefix))
      .and.to.have.length(2500);
  });

  it("has every Redis key of every task byte for byte, and restores it under another prefix", async () => {
    await open();
    await fill();
    const { keys, tasks } = await backup();
    expect(tasks).to.equal(10);
    expect(statSync(file).mode & 0o777).to.equal(0o600);
    const report = await restore();
    expect(report.counts).to.deep.equal({ keys, tasks });
    expect(report.check).to.deep.include({ tasks: 10, disagreeing: [] });
    expect(kept(await contentOf(prefix))).to.deep.equal(kept(await contentOf(t.keys.prefix)));
  });

  it("restores places, states and results of tasks, and running tasks run again after their leases", async () => {
    await open();
    await fill();
    await backup();
    await restore();
    const back = await openEngine({ prefix });
    try {
      const states = ["done", "dead", "retrying", "runs", "later"].map(async (id) => (await back.look(id)).state);
      expect(await Promise.all(states)).to.deep.equal(["succeeded", "failed", "retrying", "running", "scheduled"]);
      expect((await back.look("done")).result?.body.toString()).to.equal("fertig ✓");
      // As if the lease had ended: its worker is not there any more.
      await back.endLease("runs");
      await back.engine.maintenance.tick(0);
      const tasks = await back.reserve(10);
      expect(tasks.map(({ id }) => id)).to.deep.equal(["urgent", "runs", "first", "second", "named"]);
      expect(tasks[1]?.input).to.deep.equal(LARGE);
    } finally {
      await back.close();
    }
  });

  it("keeps the order of keyed and of fair lines", async () => {
    await open();
    for (const n of [1, 2, 3]) {
      for (const key of ["a", "b"]) await t.submit({ id: `${key}${n}`, key, share: { key, weight: 1 } });
    }
    await t.reserve(1);
    await backup();
    const { check } = await restore();
    expect(check).to.deep.include({ tasks: 6, disagreeing: [] });
    expect(kept(await contentOf(prefix))).to.deep.equal(kept(await contentOf(t.keys.prefix)));
  });

  it("has all partitions, and can only be restored into as many", async () => {
    await open(3);
    for (let n = 0; n < 30; n += 1) await t.submit({ id: `task-${n}` });
    await backup();
    expect(await refusal(restore({ partitions: 1 }))).to.equal(
      `PARTITIONS is 1, but ${file} is of a deployment with 3; expected 3`,
    );
    expect((await restore()).check).to.deep.include({ tasks: 30, disagreeing: [] });
    expect(kept(await contentOf(prefix))).to.deep.equal(kept(await contentOf(t.keys.prefix)));
  });

  it("is refused before anything is written if it was cut off or altered, or is not a backup", async () => {
    await open();
    await fill();
    await backup();
    const whole = readFileSync(file);
    const text = gunzipSync(whole).toString();
    const cases: [string | Buffer, string][] = [
      [whole.subarray(0, whole.length - 100), "is cut off"],
      [gzipSync(text.slice(0, text.lastIndexOf('{"keys"'))), "is cut off"],
      [gzipSync(text.replace('"first"', '"worst"')), "was altered"],
      [gzipSync(text.replace("paihao-backup-1", "paihao-backup-2")), "has the form paihao-backup-2"],
      [gzipSync("REDIS0011"), "is not a backup"],
      ["REDIS0011", "is not a backup"],
      ["", "is cut off"],
    ];
    for (const [content, reason] of cases) {
      writeFileSync(file, content);
      expect(await refusal(restore())).to.include(`${file} ${reason}`);
    }
    expect(await refusal(restoreStore({ ...there(), file: path.join(dir, "none") }, log, nothing))).to.match(/ENOENT/);
    expect(await keysLike(t.redis, `{${prefix}:*`)).to.deep.equal([]);
  });
  const there = () => ({ url: storeUrl(), prefix, partitions: 1, replace: false });

  it("does not overwrite a deployment unless told to, and never one with workers", async () => {
    await open();
    await t.submit({ id: "a" });
    await backup();
    await t.submit({ id: "b" });
    expect(await refusal(restore({ prefix: t.keys.prefix }))).to.match(
      /^the store has data with KEY_PREFIX .*--replace$/,
    );
    const worker = await connect(storeUrl(), "worker", log, { subscriber: true });
    try {
      await new PubSub(worker).listen(t.keys.workChannel(0, "jobs"), nothing);
      expect(await refusal(restore({ prefix: t.keys.prefix, replace: true }))).to.match(/^processes run with/);
    } finally {
      worker.disconnect();
    }
    // The store notices that it is gone.
    await eventually(() => restore({ prefix: t.keys.prefix, replace: true }));
    expect((await t.reserve(5)).map(({ id }) => id)).to.deep.equal(["a"]);
  });

  it("that was restored in part keeps servers from starting, until it is restored again", async () => {
    await open();
    for (let n = 0; n < 5; n += 1) await t.submit({ id: `task-${n}` });
    await t.redis.rpush(t.key("output", "task-1"), "one", "two");
    await backup();
    let parts = 0;
    const breaks = restore({}, () => {
      parts += 1;
      if (parts === 4) throw new Error("the power fails");
    });
    expect(await refusal(breaks)).to.equal("the power fails");
    const config = readConfig({ KEY_PREFIX: prefix });
    expect(await refusal(openReal(config, storeUrl(), [], log))).to.match(/restore .* has not ended; run it again/);
    expect(await refusal(backupStore({ url: storeUrl(), prefix, file }, log, nothing))).to.not.equal("");
    await restore();
    expect(kept(await contentOf(prefix))).to.deep.equal(kept(await contentOf(t.keys.prefix)));
    (await openReal(config, storeUrl(), [], log)).close();
  });

  it("leaves out data that has expired since", async () => {
    await open();
    await t.submit({ id: "done" });
    const [task] = await t.reserve(1);
    if (!task) throw new Error("nothing was reserved");
    await t.engine.leases.complete(of(task), { ...resultOf(""), body: LARGE }, t.settings);
    await backup();
    // As if it had been made long ago.
    const lines = gunzipSync(readFileSync(file)).toString().trimEnd().split("\n");
    const { sha256, ...counts } = JSON.parse(lines.pop() ?? "");
    const older = lines.map((line) => `${line.replace(/"r:done","string",\d+/, '"r:done","string",1000')}\n`).join("");
    const end = { ...counts, sha256: createHash("sha256").update(older).digest("hex") };
    expect(end.sha256).to.not.equal(sha256);
    writeFileSync(file, gzipSync(`${older}${JSON.stringify(end)}\n`));
    expect((await restore()).expired).to.equal(1);
    expect(await t.redis.exists(`{${prefix}:0}r:done`)).to.equal(0);
    expect(await t.redis.exists(`{${prefix}:0}t:done`)).to.equal(1);
  });

  it("made under load has every task that was accepted before, and agrees once restored", async () => {
    await open();
    const accepted: string[] = [];
    for (let n = 0; n < 500; n += 1) accepted.push(`before-${n}`);
    await Promise.all(
      accepted.map((id) => t.submit({ id, input: `"${"x".repeat(300)}${id}"`, webhook: "https://example.com/told" })),
    );
    let ended = false;
    const work = async () => {
      for (let n = 0; !ended; n += 1) {
        await t.submit({ id: `during-${n}` });
        const [done, failed] = await t.reserve(2);
        if (done) await t.engine.leases.complete(of(done), resultOf(done.id), t.settings);
        if (failed) await t.engine.leases.fail(of(failed), failureOf(n % 2 === 0 ? "retry" : "give-up"), t.settings);
      }
    };
    const working = work();
    await backup().finally(() => {
      ended = true;
    });
    await working;
    await restore();
    const url = storeUrl();
    expect(await verifyStore(url, prefix, { heal: false }, log)).to.have.deep.property("disagreeing", []);
    const back = await openEngine({ prefix });
    try {
      const tasks = await Promise.all(accepted.map((id) => back.look(id)));
      expect(tasks.map(({ id }) => id)).to.deep.equal(accepted);
      const ends = tasks.filter(({ state }) => state === "succeeded" || state === "failed");
      const told = await keysLike(back.redis, `{${prefix}:0}t:*:webhook:*`);
      for (const { id } of ends)
        expect(
          told.some((key) => key.includes(`t:${id}:webhook:`)),
          id,
        ).to.equal(true);
      // What waits is in its order, with its input.
      const waiting = await back.reserve(100);
      const order = waiting.flatMap(({ id }) => (id.startsWith("before-") ? [Number(id.slice(7))] : []));
      expect(order).to.deep.equal([...order].sort((a, b) => a - b));
      for (const { id, input } of waiting) {
        if (id.startsWith("before-")) expect(input.toString()).to.equal(`"${"x".repeat(300)}${id}"`);
      }
    } finally {
      await back.close();
    }
  });

  it("moves from one kind of store to another, and back", async () => {
    await open();
    await fill();
    await backup();
    const before = kept(await contentOf(t.keys.prefix));
    const embedded = await startEmbeddedStore({ log });
    try {
      expect((await restore({ url: embedded.url })).check).to.deep.include({ tasks: 10, disagreeing: [] });
      await backupStore({ url: embedded.url, prefix, file }, log, nothing);
    } finally {
      await embedded.stop();
    }
    expect((await restore()).check).to.deep.include({ tasks: 10, disagreeing: [] });
    expect(kept(await contentOf(prefix))).to.deep.equal(before);
  });

  it("leaves no file behind, and an existing one unchanged, if it cannot be written", async () => {
    await open();
    await t.submit({ id: "a" });
    await backup();
    const whole = readFileSync(file);
    const breaks = backup(() => {
      throw new Error("the store is gone");
    });
    expect(await refusal(breaks)).to.equal("the store is gone");
    expect(readdirSync(dir)).to.deep.equal(["a.backup"]);
    expect(readFileSync(file)).to.deep.equal(whole);
    file = path.join(dir, "none/a.backup");
    expect(await refusal(backup())).to.match(/^cannot write .*: ENOENT/);
  });
});
