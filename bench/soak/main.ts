/**
 * `npm run soak -- --hours H`: tasks of all kinds at once, while workers are killed and an API is restarted, and whether memory, open
 * files, keys in Redis and latency stay as they were: the last quarter of the time is compared with the first one. Runs of half an hour
 * and longer are added to bench/results.md. Fails if something has grown.
 */

import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { type Bench, type Figure, isReached, type Measured } from "../harness/bench.ts";
import { endAll } from "../harness/process.ts";
import { record } from "../harness/record.ts";
import { type BenchStore, openStore } from "../harness/store.ts";
import { Fleet } from "./fleet.ts";
import { SoakLoad } from "./load.ts";
import { compareQuarters, type Moment } from "./quarters.ts";
import { takeSample } from "./sample.ts";

const HOUR_MS = 3_600_000;
/** The time before the first quarter, ms: until then as many records leave the store as come, and the code is compiled. */
const WARM_UP_MS = 60_000;
/** How many samples are taken, and the shortest time between two, ms. */
const SAMPLES = 240;
const LEAST_MS = 2000;
/** How long after the last submission everything has ended, ms. */
const DRAIN_MS = 60_000;
/** A shorter run shows only that it works. */
const SHORT_HOURS = 0.5;

const { values } = parseArgs({ options: { hours: { type: "string", default: "1" } } });
const hours = Number(values.hours);
if (!(hours > 0)) throw new Error("--hours must be a positive number");

const soak: Bench = {
  name: "soak",
  title: "All kinds of tasks, while workers are killed and an API is restarted",
  async run({ say }) {
    const store = await openStore("AOF everysec");
    const fleet = await Fleet.start(store);
    const load = new SoakLoad();
    const [loading, restarting] = [load.run(fleet), fleet.restartAll()];
    const moments = await observe(store, { fleet, load, say });
    fleet.endRestarts();
    load.end();
    await Promise.all([loading, restarting]);
    const left = await leftInLines(fleet);
    await fleet.stop();
    await store.stop();
    return report(moments, { fleet, load, left });
  },
};

async function observe(
  store: BenchStore,
  { fleet, load, say }: { fleet: Fleet; load: SoakLoad; say: (line: string) => void },
): Promise<Moment[]> {
  await delay(WARM_UP_MS);
  load.takeLatencies();
  const moments: Moment[] = [];
  const everyMs = Math.max(LEAST_MS, (hours * HOUR_MS) / SAMPLES);
  const begun = performance.now();
  for (let n = 1; n * everyMs <= hours * HOUR_MS; n += 1) {
    await delay(begun + n * everyMs - performance.now());
    const sample = await takeSample(fleet, store);
    moments.push({ sample, latencies: load.takeLatencies() });
    const of = (name: string) => Math.round(sample[name] ?? 0);
    if (n % 10 === 0)
      say(
        `${load.submitted} tasks, RSS ${of("RSS, MiB")} MiB, heap ${of("heap, MiB")} MiB, ${of("keys: task")} records`,
      );
  }
  return moments;
}

/** Tasks that neither end nor leave, when nothing comes any more. */
async function leftInLines(fleet: Fleet): Promise<number> {
  let left = Number.NaN;
  for (const until = performance.now() + DRAIN_MS; left !== 0 && performance.now() < until; await delay(500)) {
    const { items } = (await (await fetch(`${fleet.url("steady")}/v1/queues`)).json()) as {
      items: { waiting: number; running: number; scheduled: number }[];
    };
    left = items.reduce((sum, { waiting, running, scheduled }) => sum + waiting + running + scheduled, 0);
  }
  return left;
}

function report(moments: readonly Moment[], all: { fleet: Fleet; load: SoakLoad; left: number }): Measured {
  const { fleet, load, left } = all;
  const none = (figure: string, value: number): Figure => ({
    ...{ figure, store: "AOF everysec", ours: "", against: "–", theirs: "", value, unit: "", target: { atMost: 0 } },
  });
  return {
    figures: [
      ...compareQuarters(moments),
      none("tasks left in lines", left),
      none("calls without an answer", load.failed),
      none("calls left out, since too many were open", load.leftOut),
    ],
    notes: [
      `${hours} h, ${load.submitted} tasks, ${load.hooks} webhooks, ${fleet.restarts} processes killed or restarted, ${moments.length} samples. ` +
        "Measured is the one process, with both roles, that stays. Of the heap the lowest value of a quarter counts, of the rest the median.",
    ],
  };
}

process.on("exit", endAll);
process.on("SIGINT", () => process.exit(130));
console.log(`▸ soak: ${soak.title}`);
const measured = await soak.run({ quick: false, pairs: 1, say: (line) => console.log(`  ${line}`) });
record(soak, measured, hours < SHORT_HOURS);
const grown = measured.figures.filter((figure) => isReached(figure) === false);
console.log(grown.length === 0 ? "nothing has grown" : `grown: ${grown.map(({ figure }) => figure).join("; ")}`);
process.exit(grown.length === 0 ? 0 : 1);
