/** Many complete workers in one process, with connections, ticker, heartbeat and pools. Called by the benchmark: `idle URL`. */
import path from "node:path";
import { built } from "../harness/built.ts";
import { serve } from "../harness/rpc.ts";

const [url = ""] = process.argv.slice(2);

const calls = {
  /** @param queues have a handler each; default: the shipped handlers */
  async start(asked: { workers: number; partitions: number; queues?: readonly string[] }): Promise<void> {
    const { workers, partitions, queues } = asked;
    const { readConfig } = await built<typeof import("../../src/config/config.ts")>("config/config.js");
    const { createLog } = await built<typeof import("../../src/log.ts")>("log.js");
    const { start } = await built<typeof import("../../src/server.ts")>("server.js");
    const config = readConfig({
      REDIS_URL: url,
      ROLE: "worker",
      PARTITIONS: String(partitions),
      HANDLERS: path.resolve(import.meta.dirname, "../handlers"),
    });
    const { defineHandler } = await built<typeof import("../../src/handler/define.ts")>("handler/define.js");
    const own = queues && new Map(queues.map((queue) => [queue, defineHandler({ queue, run: () => undefined })]));
    for (let n = 0; n < workers; n += 1) await start(config, createLog("warn"), own && { handlers: own });
  },
};
export type IdleCalls = typeof calls;
serve(calls);
