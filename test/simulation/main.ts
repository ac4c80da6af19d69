/**
 * `npm run simulate -- [--seed N] [--seeds N] [--minutes N] [--plant NAME] [--log]`: an API, two workers and the embedded store in this
 * process, in virtual time, under random faults and latencies. What callers and handlers saw is checked against the rules of
 * test/chaos/history, and the store is verified. The same seed plays the same simulation again; `--seeds` plays this many, one after the
 * other, until one breaks a promise. `--plant` puts a mistake into the Lua.
 */
import { parseArgs } from "node:util";
import { seedOf } from "../helpers/long-run.ts";
import { plant } from "./plants.ts";
import { simulate } from "./simulate.ts";

/** Long enough for 1300 tasks and 120 faults. */
const MINUTES = "20";
/** Broken promises that are shown. */
const SHOWN = 10;

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    seeds: { type: "string", default: "1" },
    minutes: { type: "string", default: MINUTES },
    plant: { type: "string" },
    log: { type: "boolean", default: false },
  },
});

const first = seedOf(values.seed);
const again = [
  ...(values.minutes === MINUTES ? [] : [`--minutes ${values.minutes}`]),
  ...(values.plant ? [`--plant ${values.plant}`] : []),
];
const write = values.log ? (line: string) => console.log(line) : undefined;
const cpuSeconds = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};
if (values.plant !== undefined) plant(values.plant);
for (let seed = first; seed < first + Number(values.seeds); seed += 1) {
  const begunS = cpuSeconds();
  const { virtualMs, tasks, faults, turns, digest, broken } = await simulate(seed, Number(values.minutes), write);
  const [minutes, tookS] = [virtualMs / 60_000, cpuSeconds() - begunS].map((n) => n.toFixed(1));
  console.log(
    `seed ${seed}: ${minutes} min, ${tasks} tasks, ${faults} faults, ${turns} turns in ${tookS} s of CPU; history ${digest}`,
  );
  if (broken.length === 0) continue;
  for (const line of broken.slice(0, SHOWN)) console.log(`  ${line}`);
  console.log(
    `  ${broken.length} broken promises; again: npm run simulate -- ${[`--seed ${seed}`, ...again].join(" ")}`,
  );
  process.exitCode = 1;
  break;
}
