/**
 * Another worker's process: `rival.ts URL PREFIX` lets time pass until the tasks of the queue `jobs` have lost their worker, takes
 * them and finishes them. Called by a handler that blocks its event loop meanwhile.
 */
import { readConfig } from "../../src/config/config.ts";
import { openEngine } from "../../src/engine/opening/open.ts";
import { defineHandler } from "../../src/handler/define.ts";
import { createLog } from "../../src/log.ts";

const [, , url = "", prefix = ""] = process.argv;
const handler = defineHandler({ queue: "jobs", run: () => undefined });
const { engine, close } = await openEngine(readConfig({ KEY_PREFIX: prefix }), url, [handler], createLog("silent"));
const settings = engine.queues.settings("jobs");
for (let lost = 0; lost === 0; lost = (await engine.maintenance.tick(0)).lost.length) {
  await new Promise((resolve) => setTimeout(resolve, 20));
}
const request = { queue: "jobs", worker: "rival", reservation: "only", count: 10, leaseMs: 60_000, rate: undefined };
for (const task of (await engine.leases.reserve(request)).tasks) {
  const body = Buffer.from('"the rival was first"');
  const result = { status: 200, contentType: "application/json", headers: {}, body };
  await engine.leases.complete({ queue: "jobs", id: task.id, fence: task.fence }, result, settings);
}
close();
