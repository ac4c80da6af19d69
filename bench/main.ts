/**
 * `npm run bench -- NAME [--quick]`: one benchmark; `all` runs each, `plot` draws what was recorded. A quick run takes a few
 * seconds, shows its figures and keeps them out of results.md.
 */
import { parseArgs } from "node:util";
import { accept } from "./accept.ts";
import type { Bench } from "./harness/bench.ts";
import { endAll } from "./harness/process.ts";
import { record } from "./harness/record.ts";

const BENCHES: readonly Bench[] = [accept];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: "boolean", default: false }, pairs: { type: "string" } },
});

process.on("exit", endAll);
process.on("SIGINT", () => process.exit(130));

const [name = ""] = positionals;
const chosen = name === "all" ? BENCHES : BENCHES.filter((bench) => bench.name === name);
if (chosen.length === 0) {
  console.error(`npm run bench -- NAME [--quick], where NAME is one of\n  all, plot, ${BENCHES.map((b) => b.name).join(", ")}`);
  process.exitCode = 1;
}
for (const bench of chosen) {
  console.log(`▸ ${bench.name}: ${bench.title}`);
  const { quick } = values;
  const pairs = Number(values.pairs ?? (quick ? 3 : 7));
  record(bench, await bench.run({ quick, pairs, say: (line) => console.log(`  ${line}`) }), quick);
}
