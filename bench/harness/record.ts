import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type Bench, type Figure, isReached, type Measured } from "./bench.ts";
import { describeMachine, type Machine, machineLine } from "./machine.ts";

const BENCH_DIR = path.resolve(import.meta.dirname, "..");
/** The folder of the single measurements, with a file for each run. */
export const RESULTS_DIR: string = path.join(BENCH_DIR, "results");
const RESULTS = path.join(BENCH_DIR, "results.md");

/** A run as it is kept in bench/results. */
export interface Recorded extends Measured {
  readonly bench: string;
  readonly quick: boolean;
  readonly machine: Machine;
}

/** Prints the result, stores it as JSON, and adds it to the dated tables unless it was a quick run. */
export function record(bench: Bench, measured: Measured, quick: boolean): void {
  const machine = describeMachine();
  const lines = [
    `### ${machine.date.slice(0, 16).replace("T", " ")} · ${bench.title}${quick ? " (quick)" : ""}`,
    "",
    machineLine(machine),
    "",
    ...tableOf(measured.figures),
    ...(measured.notes ?? []).flatMap((note) => ["", note]),
    "",
  ];
  console.log(`\n${lines.join("\n")}`);
  mkdirSync(RESULTS_DIR, { recursive: true });
  const stamp = machine.date.slice(0, 19).replace(/[-:]/g, "");
  const file = path.join(RESULTS_DIR, `${bench.name}-${stamp}${quick ? ".quick" : ""}.json`);
  writeFileSync(file, `${JSON.stringify({ bench: bench.name, quick, machine, ...measured } satisfies Recorded)}\n`);
  if (quick) return;
  if (!existsSync(RESULTS)) writeFileSync(RESULTS, HEADER);
  appendFileSync(RESULTS, `\n${lines.join("\n")}`);
}

/** The newest recorded run of a benchmark, else the newest quick one; undefined if there is none. */
export function newestRecorded(bench: string): Recorded | undefined {
  const name = new RegExp(`^${bench}-\\d{8}T\\d{6}(\\.quick)?\\.json$`);
  const files = readdirSync(RESULTS_DIR).filter((file) => name.test(file));
  const isQuick = (file: string) => (file.endsWith(".quick.json") ? 0 : 1);
  const [file] = files.sort((a, b) => isQuick(b) - isQuick(a) || (a < b ? 1 : -1));
  if (file === undefined) return undefined;
  return JSON.parse(readFileSync(path.join(RESULTS_DIR, file), "utf8")) as Recorded;
}

const HEADER = `# Results

Each run of \`npm run bench -- NAME\` adds a table, including targets that were missed. Peers took turns on one machine and one Redis;
only ratios within one run are meaningful; absolute figures depend on the machine. The single measurements are in \`results/\`.
`;

function tableOf(figures: readonly Figure[]): string[] {
  return [
    "| figure | store | ours | against | theirs | measured | target | reached |",
    "|---|---|---|---|---|---|---|---|",
    ...figures.map((f) =>
      [
        "",
        f.figure,
        f.store,
        f.ours,
        f.against,
        f.theirs,
        `${shown(f.value)} ${f.unit}`.trim(),
        targetOf(f),
        reachedOf(f),
        "",
      ]
        .join(" | ")
        .trim(),
    ),
  ];
}

function shown(value: number): string {
  return Number.isInteger(value) || Math.abs(value) >= 1000 ? String(Math.round(value)) : value.toFixed(2);
}

function targetOf({ target, unit }: Figure): string {
  if (target === null) return "–";
  return "atLeast" in target ? `≥ ${target.atLeast} ${unit}`.trim() : `≤ ${target.atMost} ${unit}`.trim();
}

function reachedOf(figure: Figure): string {
  const reached = isReached(figure);
  return reached === null ? "–" : reached ? "yes" : "**no**";
}
