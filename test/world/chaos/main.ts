import { readFileSync } from "node:fs";
import { messageOf } from "../../../src/errors.ts";
import { seedOf } from "../../helpers/long-run.ts";
import { randomOf } from "../../shared/random.ts";
import { FAULTS } from "../faults.ts";
import { brokenIn } from "../history/check.ts";
import { entriesOf } from "../history/history.ts";
import { optionsOf } from "../usage.ts";
import { World } from "./deployment.ts";
import { endure } from "./endure.ts";
import { NAMES } from "./faults.ts";

const USAGE = `npm run chaos -- [--minutes N] [--seed N] [--only WORDS] [--check FILE]

The long form of test/world/chaos/faults.test.ts: faults drawn by chance, one or two at a time, strike servers, workers and a Redis of their
own under load, until the time is over. What callers and handlers saw is checked against the rules of test/world/history. A broken promise
ends it, with the last lines of all logs.

  --minutes N   10 by default
  --seed N      draws the same faults and loads again
  --only WORDS  only faults with these words in their names
  --check FILE  only checks the history in a file that an earlier run has written

Faults:
${NAMES.map((name) => `  ${name.padEnd(22)}${FAULTS[name].what}`).join("\n")}`;

/** How many lines of each log are shown if a promise is broken. */
const LOG_LINES = 40;
/** How often a second fault strikes before the first one has been checked. */
const TWO_IN = 0.3;
/** The time between two arrivals, ms, from heavy to light load. */
const EVERY_MS = [60, 120, 240];

const options = optionsOf(USAGE, {
  minutes: { type: "string", default: "10" },
  seed: { type: "string" },
  only: { type: "string", default: "" },
  check: { type: "string" },
});

/** Lets faults strike until the time is over. */
async function strike(): Promise<void> {
  const seed = seedOf(options.seed);
  const chance = randomOf(seed);
  const oneOf = <T>(all: readonly T[]): T => all[Math.floor(chance() * all.length)] as T;
  const names = NAMES.filter((name) => name.includes(options.only));
  const until = performance.now() + Number(options.minutes) * 60_000;
  console.log(`seed ${seed}, ${options.minutes} minutes`);
  const world = await World.start();
  let [round, struck, accepted] = [0, 0, 0];
  try {
    while (performance.now() < until) {
      round += 1;
      const some = chance() < TWO_IN ? [oneOf(names), oneOf(names)] : [oneOf(names)];
      const pace = { everyMs: oneOf(EVERY_MS), secondMs: 50, most: 64 };
      const row = await endure(world, some, { pace, chance });
      const { runs, recoveryS } = row;
      console.log(
        `${round}: ${some.join(" + ")}: ${row.accepted} accepted, 0 lost, ${runs} runs, recovered in ${recoveryS.toFixed(1)} s`,
      );
      struck += some.length;
      accepted += row.accepted;
    }
    console.log(`${struck} faults, ${accepted} tasks accepted, 0 lost, no promise broken`);
  } catch (error) {
    console.error(world.logs(LOG_LINES));
    console.error(`seed ${seed}, round ${round}: ${messageOf(error)}`);
    process.exitCode = 1;
  } finally {
    await world.stop();
  }
}

if (options.check === undefined) await strike();
else {
  const broken = brokenIn(entriesOf(readFileSync(options.check, "utf8")));
  console.log([...broken, `${broken.length} broken promises`].join("\n"));
  process.exitCode = broken.length > 0 ? 1 : 0;
}
