/** Many complete workers in one process, with connections, ticker, heartbeat and pools. Called by the benchmark: `idle URL`. */
import path from "node:path";
import { built } from "../harness/built.ts";
import { serve } from "../harness/rpc.ts";

const [url = ""] = process.argv.slice(2);

const calls = {
  async start({ workers, partitions }: { workers: number; partitions: number }): Promise<void> {
    const { readConfig } = await built<typeof import("../../src/config/config.ts")>("config/config.js");
    const { createLog } = await built<typeof import("../../src/log.ts")>("log.js");
    const { start } = await built<typeof import("../../src/server.ts")>("server.js");
    const config = readConfig({
      REDIS_URL: url,
      ROLE: "worker",
      PARTITIONS: String(partitions),
      HANDLERS: path.resolve(import.meta.dirname, "../handlers"),
    });
    for (let n = 0; n < workers; n += 1) await start(config, createLog("warn"));
  },
};
export type IdleCalls = typeof calls;
serve(calls);
