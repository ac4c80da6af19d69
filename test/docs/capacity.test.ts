import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { capacityOf, type Demand, readCosts, USED } from "../../bench/harness/capacity.ts";
import { connectOnce } from "../../src/store/servers/probe.ts";
import { startServer } from "../helpers/http/server.ts";
import { storeUrl } from "../helpers/store/run-store.ts";
import { keysLike } from "../helpers/store/scan.ts";
import { eventually } from "../shared/eventually.ts";
import { ROOT } from "../shared/root.ts";
import { readGuide } from "./guide.ts";

const COUNT = 200;
const NOTHING: Demand = {
  tasksPerSecond: 0,
  inputBytes: 0,
  resultBytes: 0,
  serviceMs: 0,
  waiting: 0,
  resultTtlMs: 0,
  tombstoneTtlMs: 0,
  concurrency: 8,
};

describe("docs/capacity.md", () => {
  const text = readGuide("capacity.md");

  it("shows what its command prints", () => {
    const [, args = ""] = /^npm run capacity -- (.*)$/m.exec(text) ?? [];
    const printed = execFileSync(
      process.execPath,
      ["--import", "tsx", join(ROOT, "bench/capacity.ts"), ...args.split(" ")],
      { cwd: ROOT, encoding: "utf8" },
    );
    const [, shown = ""] = /^```\n(waiting and running.*?)^```/ms.exec(text) ?? [];
    expect(shown.trim(), "after a new measurement, copy what it prints").to.equal(printed.trim());
  });

  it("has the CPU of each measured load, and interpolates between them", () => {
    const costs = readCosts();
    const at = (tasksPerSecond: number) => capacityOf({ ...NOTHING, tasksPerSecond }, costs).redisCore;
    for (const { perSecond, redisCore } of costs.levels) expect(at(perSecond)).to.be.closeTo(redisCore, 1e-9);
    const [none, some, , max] = costs.levels;
    if (!none || !some || !max) throw new Error("a load is missing");
    expect(at(some.perSecond / 2)).to.be.closeTo((none.redisCore + some.redisCore) / 2, 1e-9);
    expect(at(max.perSecond * 2)).to.be.closeTo(max.redisCore * 2, 1e-9);
    const { maxPerSecond } = capacityOf(NOTHING, costs);
    expect(at(maxPerSecond)).to.be.closeTo(USED.core, 1e-3);
  });

  it("has estimates of memory that hold for longer inputs and results than were measured", async function () {
    this.timeout(60_000);
    const [inputBytes, resultBytes] = [3000, 5000];
    const folder = mkdtempSync(join(tmpdir(), "paihao-capacity-"));
    writeFileSync(
      join(folder, "long.mjs"),
      `import { defineHandler } from "paihao";\nexport const long = defineHandler({ queue: "long", run: () => "x".repeat(${resultBytes}) });`,
    );
    const server = await startServer({ HANDLERS: folder });
    const redis = await connectOnce(storeUrl());
    try {
      await server.send("/v1/queues/long/pause", { method: "POST" });
      const before = await usedBy(server.prefix);
      const body = `${JSON.stringify("y".repeat(inputBytes))}\n`.repeat(COUNT);
      const headers = { "Content-Type": "application/x-ndjson" };
      expect((await server.send("/v1/queues/long/batches", { method: "POST", headers, body })).status).to.equal(202);
      const waiting = (await usedBy(server.prefix)) - before;
      const costs = readCosts();
      const estimated = capacityOf({ ...NOTHING, inputBytes, waiting: COUNT }, costs).totalBytes;
      expect(estimated / waiting).to.be.within(0.9, 1.5);

      await server.send("/v1/queues/long/resume", { method: "POST" });
      await eventually(async () => {
        const { json } = await server.send("/v1/queues/long");
        return json.waiting === 0 && json.running === 0;
      });
      const finished = (await usedBy(server.prefix)) - before;
      const kept = capacityOf({ ...NOTHING, resultBytes, tasksPerSecond: COUNT, resultTtlMs: 1000 }, costs).totalBytes;
      expect(kept / finished).to.be.within(0.9, 1.5);
    } finally {
      redis.disconnect();
      await server.stop();
      rmSync(folder, { recursive: true });
    }

    /** What the keys of a prefix take in Redis. */
    async function usedBy(prefix: string): Promise<number> {
      const keys = await keysLike(redis, `{${prefix}:*`);
      let sum = 0;
      for (const key of keys) sum += Number(await redis.call("MEMORY", "USAGE", key, "SAMPLES", "0"));
      return sum;
    }
  });
});
