import { setTimeout as delay } from "node:timers/promises";
import type { Bench, Figure } from "./harness/bench.ts";
import { startCallable } from "./harness/rpc.ts";
import { type BenchStore, openStore } from "./harness/store.ts";
import type { IdleCalls } from "./subjects/idle.ts";
import type { PaihaoCalls } from "./subjects/paihao.ts";

const WORKERS = 50;

/** What many workers cost a Redis with nothing, or next to nothing, to do. */
export const idle: Bench = {
  name: "idle",
  title: "Scripts a second in Redis with 50 idle workers",
  async run(options) {
    const store = await openStore("no persistence");
    const workers = startCallable<IdleCalls>("idle", [store.url]);
    const client = startCallable<PaihaoCalls>("paihao", [store.url, "ph"]);
    try {
      options.say(`starting ${WORKERS} workers`);
      await workers.call("start", { workers: WORKERS });
      await delay(3000);
      const seconds = options.quick ? 8 : 30;
      const nothing = await scriptsPerSecond(store, seconds);
      const busy = scriptsPerSecond(store, seconds);
      for (let n = 0; n < seconds; n += 1) {
        await client.call("add", null);
        await delay(1000);
      }
      const oneASecond = await busy;
      const figure = (words: string, value: number): Figure => ({
        figure: words,
        against: "–",
        store: store.mode,
        ours: `${(value / WORKERS).toFixed(2)}/s for each worker`,
        theirs: "",
        value,
        unit: "/s",
        target: null,
      });
      return {
        figures: [
          figure("scripts at idle, 50 workers", nothing),
          figure("scripts at one task a second, 50 workers", oneASecond),
          figure("scripts more for each task", oneASecond - nothing),
        ],
        notes: ["Of the scripts for each task, one submits and one completes it; the others are workers that looked."],
        raw: { workers: WORKERS, seconds, nothing, oneASecond },
      };
    } finally {
      await Promise.all([workers.stop(), client.stop()]);
      await store.stop();
    }
  },
};

async function scriptsPerSecond(store: BenchStore, seconds: number): Promise<number> {
  const before = await store.command("evalsha");
  await delay(seconds * 1000);
  return ((await store.command("evalsha")).calls - before.calls) / seconds;
}
