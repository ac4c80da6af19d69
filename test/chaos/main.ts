/**
 * `npm run chaos -- [--minutes N] [--seed N] [--only WORDS] [--out FILE] [--check FILE]`: the long form of test/chaos/faults.test.ts. Faults
 * drawn by chance, one or two at a time and under a load drawn by chance, strike servers, workers and a Redis of their own until
 * the time is over. The table of what came of them is printed, and written to FILE. A fault that is not endured ends it, with
 * the last lines of all logs. `--check` only checks the history in a file that an earlier run has written.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { messageOf } from "../../src/errors.ts";
import { seedOf } from "../helpers/long-run.ts";
import { randomOf } from "../shared/random.ts";
import { endure, type Fault, type Row } from "./endure.ts";
import { FAULTS } from "./faults.ts";
import { check } from "./history/check.ts";
import { entriesOf, historyOf } from "./history/history.ts";
import type { LoadOptions } from "./load.ts";
import { table } from "./table.ts";
import { World } from "./world.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    seed: { type: "string" },
    only: { type: "string", default: "" },
    out: { type: "string" },
    check: { type: "string" },
  },
});
const MINUTE_MS = 60_000;
/** How many lines of each log are shown if a promise is broken. */
const LOG_LINES = 40;
/** The slots of all workers, the overhead of a task, ms, and the share of the capacity that the load may use. */
const SLOTS = 16;
const OVERHEAD_MS = 15;
const USED = 0.7;
/** How often a second fault strikes before the first one has been checked. */
const TWO_IN = 0.3;

const seed = seedOf(values.seed);
const chance = randomOf(seed);
const oneOf = <T>(all: readonly T[]): T => all[Math.floor(chance() * all.length)] as T;
const faults = FAULTS.filter((fault) => fault.name.includes(values.only));

/** A load of this many clients, slow enough for two workers. */
function loadOf(clients: number, workMs: number): LoadOptions {
  const perSecond = (SLOTS * 1000) / (workMs + OVERHEAD_MS);
  return { clients, workMs, pauseMs: Math.ceil((clients * 1000) / (perSecond * USED)) };
}

/** A row for each fault: the sums over all the times that it struck, and the longest recovery. */
function summary(rows: readonly Row[]): Row[] {
  const sums = new Map<string, { row: Row; times: number }>();
  for (const row of rows) {
    const { row: sum, times } = sums.get(row.fault) ?? {
      row: { ...row, accepted: 0, lost: 0, executions: 0 },
      times: 0,
    };
    sums.set(row.fault, {
      times: times + 1,
      row: {
        fault: row.fault,
        accepted: sum.accepted + row.accepted,
        lost: sum.lost + row.lost,
        executions: sum.executions + row.executions,
        recoveryS: Math.max(sum.recoveryS, row.recoveryS),
      },
    });
  }
  return [...sums.values()].map(({ row, times }) => ({ ...row, fault: `${row.fault} (${times}×)` }));
}

/** Lets faults strike until the time is over. */
async function strike(): Promise<void> {
  const rows: Row[] = [];
  const until = performance.now() + Number(values.minutes) * MINUTE_MS;
  console.log(`seed ${seed}, ${values.minutes} minutes`);
  const world = await World.start();
  try {
    for (let round = 1; performance.now() < until; round += 1) {
      const some: Fault[] = chance() < TWO_IN ? [oneOf(faults), oneOf(faults)] : [oneOf(faults)];
      const load = loadOf(2 + Math.floor(chance() * 8), oneOf([20, 40, 200]));
      console.log(`${round}: ${some.map((fault) => fault.name).join(" + ")} under ${JSON.stringify(load)}`);
      const row = await endure(world, some, load);
      rows.push(row);
      console.log(
        `   ${row.accepted} accepted, ${row.lost} lost, ${row.executions} executions, ` +
          `recovered in ${row.recoveryS.toFixed(1)} s`,
      );
    }
  } catch (error) {
    console.error(world.logs(LOG_LINES));
    console.error(`seed ${seed}, round ${rows.length + 1}: ${messageOf(error)}`);
    process.exitCode = 1;
  } finally {
    await world.stop();
  }
  const report = table(summary(rows));
  console.log(`\n${report}`);
  if (values.out !== undefined) writeFileSync(values.out, `${report}\n`);
}

/** Checks a history that was written to a file. */
function recheck(file: string): void {
  const broken = check(historyOf(entriesOf(readFileSync(file, "utf8"))));
  for (const { rule, violation } of broken) console.log(`${rule}: ${violation}`);
  console.log(`${broken.length} broken promises`);
  if (broken.length > 0) process.exitCode = 1;
}

if (values.check !== undefined) recheck(values.check);
else await strike();
