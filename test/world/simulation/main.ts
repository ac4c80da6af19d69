import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { seedOf } from "../../helpers/long-run.ts";
import { Callers } from "../callers.ts";
import { brokenIn } from "../history/check.ts";
import { optionsOf } from "../usage.ts";
import { World } from "./deployment.ts";
import { strike } from "./faults.ts";
import { PLANTS, plant } from "./plants.ts";

const USAGE = `npm run simulate -- [--seed N] [--seeds N] [--minutes N] [--plant NAME] [--log]

An API, two workers and the embedded store in this process, in virtual time, under random faults and latencies. What callers and handlers
saw is checked against the rules of test/world/history, and the store is verified.

  --seed N      the same seed plays the same simulation again
  --seeds N     plays this many, one after the other, until one breaks a promise
  --minutes N   virtual minutes; 20 by default: 1100 tasks and 120 faults
  --plant NAME  puts a mistake into the Lua: ${Object.keys(PLANTS).join(", ")}
  --log         writes the log of all processes`;

const MINUTES = "20";
/** Broken promises that are shown. */
const SHOWN = 10;
/** After the last fault every task ends within this time, virtual ms. */
const SETTLE_MS = 900_000;
/** How often the store is verified, virtual ms. */
const CHECK_MS = 60_000;
const PACE = { everyMs: 2700, secondMs: 1000, most: 1000 } as const;

const options = optionsOf(USAGE, {
  seed: { type: "string" },
  seeds: { type: "string", default: "1" },
  minutes: { type: "string", default: MINUTES },
  plant: { type: "string" },
  log: { type: "boolean", default: false },
});
const { minutes, plant: planted } = options;
const first = seedOf(options.seed);
const again = [...(minutes === MINUTES ? [] : [`--minutes ${minutes}`]), ...(planted ? [`--plant ${planted}`] : [])];
const write = options.log ? (line: string) => console.log(line) : undefined;
const cpuSeconds = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};

/** Simulates a deployment under faults for a while, or until it breaks a promise; resolves to the broken ones. */
async function simulate(seed: number): Promise<string[]> {
  const begunS = cpuSeconds();
  const world = new World(seed, write);
  const { time, supervisor, history } = world;
  await world.start();
  const lastMs = Number(minutes) * 60_000;
  const callers = new Callers(world, PACE, history);
  const broken: string[] = [];
  let faults = 0;
  const work = async () => {
    callers.start();
    faults = await strike(world, lastMs);
    await callers.finish();
    await callers.readAll();
    broken.push(...(await world.leftovers()), ...brokenIn(history));
  };
  const watch = async () => {
    while (broken.length === 0) {
      await delay(CHECK_MS);
      broken.push(...(await world.disagreeing()));
    }
  };
  try {
    await time.until(
      time.in(supervisor, () => Promise.race([work(), watch()])),
      lastMs + SETTLE_MS,
    );
  } catch (error) {
    broken.push(`the simulation did not end: ${error}`, ...brokenIn(history));
  }
  const digest = createHash("sha1").update(JSON.stringify(history)).digest("hex").slice(0, 10);
  const [lastedMin, tookS] = [time.nowMs / 60_000, cpuSeconds() - begunS].map((n) => n.toFixed(1));
  console.log(
    `seed ${seed}: ${lastedMin} min, ${callers.submitted} tasks, ${faults} faults, ${time.turns} turns in ${tookS} s of CPU; history ${digest}`,
  );
  return broken;
}

if (planted !== undefined) plant(planted);
for (let seed = first; seed < first + Number(options.seeds); seed += 1) {
  const broken = await simulate(seed);
  if (broken.length === 0) continue;
  for (const line of broken.slice(0, SHOWN)) console.log(`  ${line}`);
  console.log(
    `  ${broken.length} broken promises; again: npm run simulate -- ${[`--seed ${seed}`, ...again].join(" ")}`,
  );
  process.exitCode = 1;
  break;
}
