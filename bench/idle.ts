import { setTimeout as delay } from "node:timers/promises";
import type { Bench, BenchOptions, Figure } from "./harness/bench.ts";
import { startCallable } from "./harness/rpc.ts";
import { type BenchStore, openStore } from "./harness/store.ts";
import type { IdleCalls } from "./subjects/idle.ts";
import type { PaihaoCalls } from "./subjects/paihao.ts";

const WORKERS = 50;
/** After this long without work a process polls less often, ms. */
const SETTLED_MS = 20_000;

/** What workers with nothing or almost nothing to do cost Redis. */
export const idle: Bench = {
  name: "idle",
  title: "Commands per second in Redis with idle workers, including those that scripts call",
  async run(options) {
    const one = await ofOneWorker(1, options);
    const six = await ofOneWorker(6, options);
    const many = await ofManyWorkers(options);
    const figure = (figure: string, value: number, target: Figure["target"] = null): Figure => ({
      ...{ figure, against: "–", store: "no persistence", theirs: "", unit: "/s", target, value },
      ours: `${value.toFixed(1)}/s`,
    });
    const { nothing, oneASecond } = many;
    return {
      figures: [
        figure("commands at idle, one worker", one, { atMost: 10 }),
        figure("commands at idle, one worker, six partitions", six, { atMost: 10 + 2 * 6 }),
        figure(`commands at idle, each of ${WORKERS} workers`, nothing.commands / WORKERS),
        figure(`scripts at idle, ${WORKERS} workers`, nothing.scripts),
        figure(`scripts at one task per second, ${WORKERS} workers`, oneASecond.scripts),
        figure("additional scripts for each task", oneASecond.scripts - nothing.scripts),
      ],
      notes: [
        "Of the scripts for each task, one submits and one completes it; the others are workers that looked for work.",
      ],
    };
  },
};

/** The commands per second of one worker with nothing to do. */
async function ofOneWorker(partitions: number, options: BenchOptions): Promise<number> {
  const store = await openStore("no persistence");
  const workers = startCallable<IdleCalls>("idle", [store.url]);
  try {
    options.say(`one worker, partitions: ${partitions}`);
    await workers.call("start", { workers: 1, partitions });
    await delay(SETTLED_MS);
    return (await perSecond(store, options.quick ? 20 : 60)).commands;
  } finally {
    await workers.stop();
    await store.stop();
  }
}

/** What many workers cost with nothing to do, and with one task per second. */
async function ofManyWorkers(options: BenchOptions) {
  const store = await openStore("no persistence");
  const workers = startCallable<IdleCalls>("idle", [store.url]);
  const client = startCallable<PaihaoCalls>("paihao", [store.url, "ph"]);
  try {
    options.say(`starting ${WORKERS} workers`);
    await workers.call("start", { workers: WORKERS, partitions: 1 });
    await delay(SETTLED_MS);
    const seconds = options.quick ? 8 : 30;
    const nothing = await perSecond(store, seconds);
    const busy = perSecond(store, seconds);
    for (let n = 0; n < seconds; n += 1) {
      await client.call("add", null);
      await delay(1000);
    }
    return { seconds, nothing, oneASecond: await busy };
  } finally {
    await Promise.all([workers.stop(), client.stop()]);
    await store.stop();
  }
}

/** How many commands Redis runs per second, and how many of them are scripts. */
async function perSecond(store: BenchStore, seconds: number): Promise<{ commands: number; scripts: number }> {
  const look = async () => ({ commands: await store.commands(), scripts: (await store.command("fcall")).calls });
  const before = await look();
  await delay(seconds * 1000);
  const after = await look();
  // Reading each figure is one command.
  const own = 2;
  return {
    commands: (after.commands - before.commands - own) / seconds,
    scripts: (after.scripts - before.scripts) / seconds,
  };
}
