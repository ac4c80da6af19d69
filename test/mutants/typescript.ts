import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { runUnderNode } from "../shared/node-release.ts";
import { ROOT } from "../shared/root.ts";

/** The version of Node for StrykerJS, which needs 22 at least. */
const NODE = "24";
const REPORT = join(ROOT, ".cache/mutants/typescript.json");
/** The verdicts that count as killed. Mutants that survive or that no test reaches do not; other verdicts mean that a mutant cannot run. */
const KILLED = ["Killed", "Timeout"];
const SURVIVED = ["Survived", "NoCoverage"];

interface Mutant {
  readonly status: string;
  readonly replacement?: string;
  readonly location: { readonly start: { readonly line: number } };
}

/** Runs StrykerJS as stryker.config.json says, prints the score by folder and each survivor, and returns its exit code. */
export async function runTypeScript(options: readonly string[]): Promise<number> {
  rmSync(REPORT, { force: true });
  // Inherited by the processes of the runner.
  process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ""} --require ${join(ROOT, "test/mutants/mocha-12.cjs")}`;
  const code = await runUnderNode(NODE, "npx", ["stryker", "run", "test/mutants/stryker.config.json", ...options]);
  if (existsSync(REPORT)) report(JSON.parse(readFileSync(REPORT, "utf8")).files);
  return code;
}

function report(
  files: Readonly<Record<string, { readonly mutants: readonly Mutant[]; readonly source: string }>>,
): void {
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
