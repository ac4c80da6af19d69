import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../shared/root.ts";
import { withoutEquivalents } from "./equivalents.ts";
import { luaFiles, luaMutants } from "./files.ts";
import { Judge, type Verdict } from "./judge.ts";
import { byLot, lastVerdicts, report } from "./run.ts";
import { Tests } from "./tests.ts";

const FILE = join(ROOT, "test/mutants/lua/sample.json");
const SIZE = 60;
/** How many may survive by chance, since some tests depend on time. */
const CHANCE = 1;

/** By ids of mutants: those that survived when the sample was drawn, and which test killed each of the others, in how many ms. */
interface Sample {
  readonly survivors: readonly string[];
  readonly killed: Readonly<Record<string, { readonly by: string; readonly ms: number }>>;
}

/** Draws the sample from the verdicts of the last runs, without mutants killed by a time limit: they may be faster next time. */
export function drawSample(): void {
  const last = lastVerdicts();
  const { mutants } = withoutEquivalents(luaMutants(luaFiles()));
  const drawn = mutants
    .filter(({ id }) => id in last && !/^Timeout of/.test(last[id]?.error ?? ""))
    .toSorted(byLot)
    .slice(0, SIZE);
  const killed = drawn.flatMap(({ id }) => {
    const { killedBy, ms } = last[id] ?? {};
    return killedBy === undefined ? [] : [[id, { by: killedBy, ms: ms ?? 0 }] as const];
  });
  const survivors = drawn.flatMap(({ id }) => (last[id]?.killedBy === undefined ? [id] : []));
  writeFileSync(FILE, `${JSON.stringify({ survivors, killed: Object.fromEntries(killed) }, null, 2)}\n`);
  process.stdout.write(`▸ ${killed.length} of ${drawn.length} mutants of the sample are killed\n`);
}

/**
 * Whether the mutants of the sample that were killed when it was drawn are still killed; prints those that are not. Those whose line or test has
 * changed since then do not count.
 */
export async function holdsSample(): Promise<boolean> {
  const sample: Sample = JSON.parse(readFileSync(FILE, "utf8"));
  const files = luaFiles();
  const mutants = withoutEquivalents(luaMutants(files)).mutants.filter(({ id }) => id in sample.killed);
  const killers = Object.fromEntries(Object.values(sample.killed).map(({ by, ms }) => [by, ms]));
  const fileOf = (test: string) => test.split(" › ", 1)[0] ?? "";
  const testFiles = [...new Set(Object.keys(killers).map(fileOf))].filter((file) => existsSync(join(ROOT, file)));
  const tests = new Tests(testFiles);
  const judge = new Judge(tests, files, {});
  const verdicts: Record<string, Verdict> = {};
  for (const mutant of mutants) {
    const { by = "", ms = 0 } = sample.killed[mutant.id] ?? {};
    // If its test has changed, another one of the sample may kill it.
    verdicts[mutant.id] = (await judge.tryOn(mutant, { [by]: ms })) ?? (await judge.tryOn(mutant, killers)) ?? {};
  }
  tests.stop();
  const judged = mutants.filter(({ id }) => !verdicts[id]?.missing);
  report(judged, verdicts);
  const survivors = judged.filter(({ id }) => verdicts[id]?.killedBy === undefined);
  const drawn = Object.keys(sample.killed).length + sample.survivors.length;
  const changed = Object.keys(sample.killed).length - judged.length;
  const counts = `${judged.length - survivors.length} of ${judged.length} mutants that were killed still are`;
  process.stdout.write(`▸ ${counts}; of the ${drawn} drawn ${changed} have changed, or their test has\n`);
  return survivors.length <= CHANCE;
}
