import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { filesIn } from "../../../scripts/files.ts";
import { runUnderNode } from "../../shared/node-release.ts";
import { ROOT } from "../../shared/root.ts";
import { quickTests } from "../quick-tests.ts";
import { SUITES, type Suite } from "./suites.ts";
import { windowsOf } from "./windows.ts";

/** The version of Node for StrykerJS, which needs 22 at least. */
const NODE = "24";
const CONFIG = join(import.meta.dirname, "stryker.config.json");
const CACHE = join(ROOT, ".cache/mutants");
/** The verdicts that count as killed. Mutants that survive or that no test reaches do not; other verdicts mean that a mutant cannot run. */
const KILLED = ["Killed", "Timeout"];
const SURVIVED = ["Survived", "NoCoverage"];

interface Mutant {
  readonly status: string;
  readonly replacement?: string;
  readonly location: { readonly start: { readonly line: number } };
}
type Files = Readonly<Record<string, { readonly mutants: readonly Mutant[]; readonly source: string }>>;

/** Which mutants to run: of files whose paths begin with one of the parts of `only`, between commas, and which share of their lines, 0 to 1. */
export interface TypeScriptRun {
  readonly only?: string | undefined;
  readonly share: number;
}

/** Runs StrykerJS on the files of each suite, prints each survivor and the score by folder; resolves to the exit code. */
export async function runTypeScript({ only = "src/", share }: TypeScriptRun): Promise<number> {
  // Inherited by the processes of the runner.
  process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ""} --require ${join(import.meta.dirname, "mocha-12.cjs")}`;
  mkdirSync(CACHE, { recursive: true });
  const all = filesIn(join(ROOT, "src")).map((file) => `src/${file}`);
  const suiteOf = (file: string) => SUITES.find(({ files }) => file.startsWith(files));
  const mutable = all.filter(
    (file) => /(?<!\.d)\.ts$/.test(file) && only.split(",").some((start) => file.startsWith(start)),
  );
  let worst = 0;
  let found: Files = {};
  for (const suite of SUITES) {
    const files = mutable.filter((file) => suiteOf(file) === suite);
    const { code, report } = await run(suite, files, share);
    worst = Math.max(worst, code);
    found = { ...found, ...report };
  }
  print(found);
  return worst;
}

async function run(
  { files: name, tests }: Suite,
  files: readonly string[],
  share: number,
): Promise<{ code: number; report: Files }> {
  const mutate = files.flatMap((file) =>
    windowsOf(file, readFileSync(join(ROOT, file), "utf8").split("\n").length, share),
  );
  if (mutate.length === 0) return { code: 0, report: {} };
  const at = join(CACHE, name.replaceAll(/\W+/g, "-"));
  const [config, fileName] = [`${at}.config.json`, `${at}.json`];
  const common = JSON.parse(readFileSync(CONFIG, "utf8"));
  const mochaOptions = { ...common.mochaOptions, spec: quickTests(tests) };
  writeFileSync(config, JSON.stringify({ ...common, mutate, mochaOptions, jsonReporter: { fileName } }));
  rmSync(fileName, { force: true });
  process.stdout.write(`▸ ${name}: ${mutate.length} parts, ${mochaOptions.spec.length} files of tests\n`);
  const code = await runUnderNode(NODE, "npx", ["stryker", "run", config]);
  return { code, report: existsSync(fileName) ? JSON.parse(readFileSync(fileName, "utf8")).files : {} };
}

function print(files: Files): void {
  const folders = new Map<string, { killed: number; all: number }>();
  for (const [file, { mutants, source }] of Object.entries(files).toSorted()) {
    const folder = file.slice(0, file.lastIndexOf("/"));
    const of = folders.get(folder) ?? { killed: 0, all: 0 };
    folders.set(folder, of);
    for (const { status, replacement, location } of mutants) {
      if (KILLED.includes(status)) of.killed += 1;
      if (KILLED.includes(status) || SURVIVED.includes(status)) of.all += 1;
      if (!SURVIVED.includes(status)) continue;
      const { line } = location.start;
      const before = source.split("\n")[line - 1]?.trim();
      process.stdout.write(`✘ ${file}:${line} ${status}\n    ${before}\n  → ${replacement?.replaceAll(/\s+/g, " ")}\n`);
    }
  }
  for (const [folder, { killed, all }] of folders)
    process.stdout.write(`${folder.padEnd(24)} ${killed} of ${all} ${((100 * killed) / all).toFixed(1)} %\n`);
}
