import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT } from "../../shared/root.ts";
import { reachesOf, testFiles } from "./covering.ts";
import { withoutEquivalents } from "./equivalents.ts";
import { luaFiles, luaMutants, type Mutant } from "./files.ts";
import { Judge, type Kills, type Verdict } from "./judge.ts";
import { Tests } from "./tests.ts";

/** The verdicts of the last run, by ids of mutants: a later run first tries the tests that killed them. */
const LAST = join(ROOT, ".cache/mutants/lua.json");
const SEED = "1";
const SAY_MS = 15_000;

/** Which mutants to run: of files whose names begin with `only`, those that survived, those not judged yet; and how many at a time. */
export interface LuaRun {
  readonly only?: string | undefined;
  readonly which?: "all" | "survivors" | "new";
  readonly atATime: number;
}

/** Judges mutants, prints the score by file and the survivors of all that were ever judged. */
export async function runLua({ only = "", which = "all", atATime }: LuaRun): Promise<void> {
  const files = luaFiles();
  const { mutants, unused } = withoutEquivalents(luaMutants(files));
  for (const name of unused) process.stdout.write(`▸ no mutant belongs to this equivalent: ${name}\n`);
  const last = lastVerdicts();
  const isChosen = {
    all: () => true,
    survivors: (id: string) => last[id]?.killedBy === undefined,
    new: (id: string) => !(id in last),
  }[which];
  const here = mutants.filter(({ file }) => file.startsWith(only));
  const chosen = here.filter(({ id }) => isChosen(id));
  const verdicts = { ...last, ...(await judgeAll(chosen, files, atATime)) };
  report(
    here.filter(({ id }) => id in verdicts),
    verdicts,
  );
}

/** A random but stable order: a mutant keeps its place when the code around it changes. */
export const byLot = (a: Mutant, b: Mutant): number => (lotOf(a) < lotOf(b) ? -1 : 1);
const lotOf = ({ id }: Mutant): string => createHash("sha1").update(`${SEED} ${id}`).digest("hex");

async function judgeAll(
  mutants: readonly Mutant[],
  files: ReadonlyMap<string, string>,
  atATime = 1,
): Promise<Record<string, Verdict>> {
  const last = lastVerdicts();
  const { reaches, statements } = await reachesOf(files);
  const kills: Kills = new Map();
  for (const { id, file } of mutants) {
    const by = last[id]?.killedBy;
    if (by !== undefined) kills.set(file, (kills.get(file) ?? new Map()).set(by, (kills.get(file)?.get(by) ?? 0) + 1));
  }
  mkdirSync(dirname(LAST), { recursive: true });
  const verdicts: Record<string, Verdict> = {};
  // The mutants judged before a run is stopped are then a random sample.
  const queue = mutants.toSorted(byLot);
  const began = performance.now();
  const timer = setInterval(() => {
    const done = Object.values(verdicts);
    const killed = done.filter(({ killedBy }) => killedBy !== undefined).length;
    const seconds = Math.round((performance.now() - began) / 1000);
    process.stdout.write(`▸ ${seconds} s: ${done.length} of ${mutants.length} judged, ${killed} killed\n`);
  }, SAY_MS);
  const work = async () => {
    const tests = new Tests(testFiles());
    const judge = new Judge(tests, files, reaches, kills);
    for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
      const { id, file, statement } = mutant;
      verdicts[id] = await judge.judge(mutant, statements.get(`${file}:${statement}`), last[id]?.killedBy);
      // Saved now, so that a stopped run keeps its verdicts.
      writeFileSync(LAST, JSON.stringify({ ...last, ...verdicts }, null, 1));
      if (verdicts[id].killedBy === undefined) printSurvivor(mutant, verdicts[id]);
    }
    tests.stop();
  };
  await Promise.all(Array.from({ length: atATime }, work)).finally(() => clearInterval(timer));
  return verdicts;
}

/** Prints the score by folder and file, then each survivor with its line. */
export function report(mutants: readonly Mutant[], verdicts: Readonly<Record<string, Verdict>>): void {
  const survivors = mutants.filter(({ id }) => verdicts[id]?.killedBy === undefined);
  const line = (name: string, start: string) => {
    const of = mutants.filter(({ file }) => file.startsWith(start));
    const killed = of.length - survivors.filter(({ file }) => file.startsWith(start)).length;
    const score = of.length === 0 ? 1 : killed / of.length;
    process.stdout.write(
      `${name.padEnd(24)} ${String(killed).padStart(5)} of ${String(of.length).padStart(5)} ${percent(score)}\n`,
    );
  };
  for (const folder of ["lua/", "verbs/"]) {
    for (const file of new Set(mutants.map(({ file }) => file))) if (file.startsWith(folder)) line(`  ${file}`, file);
    line(`src/store/${folder}`, folder);
  }
  for (const mutant of survivors) printSurvivor(mutant, verdicts[mutant.id]);
  line("Lua", "");
}

function printSurvivor({ file, line, kind, before, after }: Mutant, verdict: Verdict | undefined): void {
  const how = verdict?.unreached ? "no test reaches it" : "survived";
  process.stdout.write(`✘ src/store/${file}:${line} ${kind}, ${how}\n    ${before}\n  → ${after}\n`);
}

const percent = (score: number): string => `${(100 * score).toFixed(1)} %`;

/** The verdict on each mutant in the last runs. */
export const lastVerdicts = (): Readonly<Record<string, Verdict>> =>
  existsSync(LAST) ? JSON.parse(readFileSync(LAST, "utf8")) : {};
