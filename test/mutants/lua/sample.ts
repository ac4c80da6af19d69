import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../shared/root.ts";
import { withoutEquivalents } from "./equivalents.ts";
import { luaFiles, luaMutants } from "./files.ts";
import { Judge } from "./judge.ts";
import { byLot, judgeAll, lastVerdicts, report } from "./run.ts";
import { Tests } from "./tests.ts";

const FILE = join(ROOT, "test/mutants/lua/sample.json");
const SIZE = 60;

/** By ids of mutants: those that survived when the sample was drawn, and which test killed each of the others, in how many ms. */
interface Sample {
  readonly survivors: readonly string[];
  readonly killed: Readonly<Record<string, { readonly by: string; readonly ms: number }>>;
}

/** Draws the sample from what the last runs have found. */
export function drawSample(): void {
  const last = lastVerdicts();
  const { mutants } = withoutEquivalents(luaMutants(luaFiles()));
  const drawn = mutants
    .filter(({ id }) => id in last)
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

/** Whether each mutant of the sample that was killed when it was drawn is still killed; prints what is not. */
export async function holdsSample(): Promise<boolean> {
  const sample: Sample = JSON.parse(readFileSync(FILE, "utf8"));
  const files = luaFiles();
  const all = luaMutants(files);
  const mutants = withoutEquivalents(all).mutants.filter(({ id }) => id in sample.killed);
  const killers = new Set(Object.values(sample.killed).map(({ by }) => by.split(" › ", 1)[0] ?? ""));
  const tests = new Tests([...killers].filter((file) => existsSync(join(ROOT, file))));
  const judge = new Judge(tests, files, {});
  const open = [];
  for (const mutant of mutants) {
    const { by = "", ms = 0 } = sample.killed[mutant.id] ?? {};
    if (!(await judge.tryOn(mutant, { [by]: ms }))) open.push(mutant);
  }
  tests.stop();
  // Their test is gone, has another name, or kills them no longer: another one may.
  const verdicts = open.length > 0 ? await judgeAll(open, files) : {};
  const survivors = open.filter(({ id }) => verdicts[id]?.killedBy === undefined);
  if (survivors.length > 0) report(open, verdicts);
  const counts = `${mutants.length - survivors.length} of ${mutants.length} that were killed still are`;
  const gone = Object.keys(sample.killed).length - mutants.length;
  const drawn = Object.keys(sample.killed).length + sample.survivors.length;
  process.stdout.write(`▸ ${counts}, in a sample of ${drawn}; the lines of ${gone} have changed since it was drawn\n`);
  return survivors.length === 0;
}
