/** `npm run bench -- --help` lists the benchmarks. */
import { Command, InvalidArgumentError, Option } from "commander";
import { accept } from "./accept.ts";
import { batch } from "./batch.ts";
import { cluster } from "./cluster.ts";
import { depth } from "./depth.ts";
import { door } from "./door.ts";
import { estimates } from "./estimates.ts";
import type { Bench } from "./harness/bench.ts";
import { endAll } from "./harness/process.ts";
import { record } from "./harness/record.ts";
import { idle } from "./idle.ts";
import { memory } from "./memory.ts";
import { pickup } from "./pickup.ts";
import { queues } from "./queues.ts";
import { recovery } from "./recovery.ts";
import { run } from "./run.ts";
import { scale } from "./scale.ts";
import { scripts } from "./scripts.ts";
import { spike } from "./spike.ts";
import { submit } from "./submit.ts";
import { sustained } from "./sustained.ts";
import { sync } from "./sync.ts";
import { syncLoad } from "./sync-load.ts";
import { tracing } from "./tracing.ts";
import { turns } from "./turns.ts";
import { where } from "./where.ts";

const BENCHES: readonly Bench[] = [
  ...[accept, syncLoad, sync, submit, run, pickup, batch, scripts, memory, depth, estimates],
  ...[sustained, spike, cluster, scale, recovery, idle, queues, turns, door, tracing, where],
];

const program = new Command("npm run bench --")
  .description("Runs benchmarks, and adds their figures to bench/results.md.")
  .argument("<names...>", "benchmarks, or: all")
  .option("--quick", "run for a few seconds each, and do not add the figures to results.md")
  .addOption(new Option("--pairs <n>", "how often the peers take turns (default: 7, quick: 3)").argParser(wholeNumber))
  .addHelpText(
    "after",
    `\nBenchmarks:\n${BENCHES.map(({ name, title }) => `  ${name.padEnd(10)} ${title}`).join("\n")}`,
  )
  .parse();
const { quick = false, pairs = quick ? 3 : 7 } = program.opts<{ quick?: boolean; pairs?: number }>();

const known = new Map(BENCHES.map((bench) => [bench.name, bench]));
const unknown = program.args.filter((name) => name !== "all" && !known.has(name));
if (unknown.length > 0) program.error(`error: no benchmark is called ${unknown.join(", ")}; --help lists them`);

process.on("exit", endAll);
process.on("SIGINT", () => process.exit(130));
// Node does not wait for stores (a test that forgets one must not hang), but must wait for benchmarks.
const awake = setInterval(() => undefined, 60_000);
const names = program.args.flatMap((name) => (name === "all" ? [...known.keys()] : name));
for (const name of new Set(names)) {
  const bench = known.get(name);
  if (!bench) continue;
  console.log(`▸ ${name}: ${bench.title}`);
  try {
    record(bench, await bench.run({ quick, pairs, say: (line) => console.log(`  ${line}`) }), quick);
  } catch (error) {
    // The other benchmarks run all the same.
    console.error(`✘ ${name} failed:`, error);
    process.exitCode = 1;
  }
}
clearInterval(awake);

function wholeNumber(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError("expected a whole number, from 1.");
  return Number(text);
}
