import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { capacityOf, type Demand, readCosts } from "../../bench/harness/capacity.ts";
import { connectOnce } from "../../src/store/servers/probe.ts";
import { eventually } from "../../testbed/eventually.ts";
import { ROOT } from "../../testbed/root.ts";
import { startServer } from "../helpers/http/server.ts";
import { storeUrl } from "../helpers/store/run-store.ts";
import { keysLike } from "../helpers/store/scan.ts";
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

  it("shows what its command prints, with figures that are about right", () => {
    const [, args = ""] = /^npm run capacity -- (.*)$/m.exec(text) ?? [];
    const printed = execFileSync(
      process.execPath,
      ["--import", "tsx", join(ROOT, "bench/capacity.ts"), ...args.split(" ")],
      { cwd: ROOT, encoding: "utf8" },
    );
    const [, shown = ""] = /^```\n(waiting and running.*?)^```/ms.exec(text) ?? [];
    const rowsOf = (lines: string) =>
      [...lines.matchAll(/^(\S.*?) {2,}([\d.,]+)/gm)].map(
        ([, name = "", figure = ""]) => [name, Number(figure.replaceAll(",", ""))] as const,
      );
    const now = new Map(rowsOf(printed));
    const rows = rowsOf(shown);
    expect(rows.map(([name]) => name)).to.deep.equal([...now.keys()]);
    for (const [name, figure] of rows) expect((now.get(name) ?? 0) / figure, name).to.be.within(0.5, 2);
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
