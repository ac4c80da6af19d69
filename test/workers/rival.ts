/**
 * Another worker's process: `rival.ts URL PREFIX [TASKS]` waits until a task of the queue `jobs` has lost its worker, and finishes so many,
 * one by default, while a handler blocks the event loop of that worker. Says when it is ready.
 */
import { readConfig } from "../../src/config/config.ts";
import { openEngine } from "../../src/engine/upkeep/boot.ts";
import { defineHandler } from "../../src/handler/define.ts";
import { createLog } from "../../src/log.ts";

const [, , url = "", prefix = "", tasks = "1"] = process.argv;
const handler = defineHandler({ queue: "jobs", run: () => undefined });
const { engine, close } = await openEngine(readConfig({ KEY_PREFIX: prefix }), url, [handler], createLog("silent"));
const settings = engine.queues.settings("jobs");
process.stdout.write("ready\n");
for (let left = Number(tasks), isLost = false; left > 0; ) {
  await new Promise((resolve) => setTimeout(resolve, 20));
  isLost ||= (await engine.upkeep.tick(0)).lost.length > 0;
  if (!isLost) continue;
  const request = { queue: "jobs", worker: "rival", reservation: `${left}`, leaseMs: 60_000, rate: undefined };
  for (const { id, fence } of (await engine.leases.reserve({ ...request, count: left })).tasks) {
    const body = Buffer.from('"the rival was first"');
    const result = { status: 200, contentType: "application/json", headers: {}, body };
    await engine.leases.complete({ queue: "jobs", id, fence }, result, settings);
    left -= 1;
  }
  await engine.upkeep.tick(0);
}
close();
