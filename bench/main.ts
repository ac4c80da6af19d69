/**
 * `npm run bench -- NAME [--quick]`: one benchmark; `all` runs each, `plot` draws what was recorded. A quick run takes some
 * seconds, shows its figures and keeps them out of results.md.
 */
import { parseArgs } from "node:util";
import { accept } from "./accept.ts";
import { anatomy } from "./anatomy.ts";
import { cluster } from "./cluster.ts";
import { depth } from "./depth.ts";
import { estimates } from "./estimates.ts";
import type { Bench } from "./harness/bench.ts";
import { endAll } from "./harness/process.ts";
import { record } from "./harness/record.ts";
import { idle } from "./idle.ts";
import { memory } from "./memory.ts";
import { pickup } from "./pickup.ts";
import { plot } from "./plot.ts";
import { recovery } from "./recovery.ts";
import { run } from "./run.ts";
import { scale } from "./scale.ts";
import { scripts } from "./scripts.ts";
import { spike } from "./spike.ts";
import { submit } from "./submit.ts";
import { sustained } from "./sustained.ts";
import { sync } from "./sync.ts";
import { syncLoad } from "./sync-load.ts";

const BENCHES: readonly Bench[] = [
  ...[accept, run, submit, depth, memory, sustained, spike, sync, syncLoad, pickup],
  ...[scale, cluster, idle, estimates, recovery, anatomy, scripts],
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: "boolean", default: false }, pairs: { type: "string" } },
});

process.on("exit", endAll);
process.on("SIGINT", () => process.exit(130));
// The stores are not waited for by Node (a test that forgets one must not hang), the benches are.
const awake = setInterval(() => undefined, 60_000);

const [name = ""] = positionals;
const chosen = name === "all" ? BENCHES : BENCHES.filter((bench) => bench.name === name);
if (name === "plot") {
  console.log(plot().join("\n"));
} else if (chosen.length === 0) {
  const names = ["all", "plot", ...BENCHES.map((bench) => bench.name)];
  console.error(`npm run bench -- NAME [--quick] [--pairs N], where NAME is one of\n  ${names.join(", ")}`);
  process.exitCode = 1;
}
for (const bench of chosen) {
  console.log(`▸ ${bench.name}: ${bench.title}`);
  const { quick } = values;
  const pairs = Number(values.pairs ?? (quick ? 3 : 7));
  try {
    record(bench, await bench.run({ quick, pairs, say: (line) => console.log(`  ${line}`) }), quick);
  } catch (error) {
    // The other benches have something to say all the same.
    console.error(`✘ ${bench.name} failed:`, error);
    process.exitCode = 1;
  }
}
clearInterval(awake);
