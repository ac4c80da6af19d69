/** A server with many queues, whose event loop is watched: `queues URL COUNT`. */
import { once } from "node:events";
import http from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { built } from "../harness/built.ts";
import { serve } from "../harness/rpc.ts";

const [url = "", count = "0"] = process.argv.slice(2);
/** How often the loop is looked at, ms. */
const TICK_MS = 1;
let base = "";

/** The CPU time of this process. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

const calls = {
  async start(): Promise<void> {
    const { start } = await built<typeof import("../../src/library.ts")>("library.js");
    const { defineHandler } = await built<typeof import("../../src/handler/define.ts")>("handler/define.js");
    const handlers = Array.from({ length: Number(count) }, (_, n) =>
      defineHandler({
        queue: `queue-${n}`,
        input: z.object({ name: z.string().max(100), size: z.number().int().optional(), tags: z.array(z.string()) }),
        run: () => "done",
      }),
    );
    base = (await start({ handlers, redisUrl: url, port: 0, logLevel: "warn" })).url;
  },
  /**
   * The longest time for which the event loop stood still while a request was answered, ms, and how long the answer took. Where other
   * processes took the CPU in between, that is not counted.
   */
  async block(path: string): Promise<{ longestMs: number; tookMs: number; status: number }> {
    await delay(1000);
    let longestMs = 0;
    let [last, lastCpu] = [performance.now(), cpuMs()];
    const look = () => {
      const [now, cpu] = [performance.now(), cpuMs()];
      longestMs = Math.max(longestMs, Math.min(now - last - TICK_MS, cpu - lastCpu));
      [last, lastCpu] = [now, cpu];
    };
    const timer = setInterval(look, TICK_MS);
    const began = performance.now();
    const [answer] = (await once(http.get(base + path), "response")) as [http.IncomingMessage];
    answer.resume();
    await once(answer, "end");
    const tookMs = performance.now() - began;
    // A block at the end is seen when the loop turns again.
    await delay(20);
    look();
    clearInterval(timer);
    return { longestMs, tookMs, status: answer.statusCode ?? 0 };
  },
};
export type QueuesCalls = typeof calls;
serve(calls);
