import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type Bench, type Figure, isReached, type Measured } from "./bench.ts";
import { describeMachine, machineLine } from "./machine.ts";

const RESULTS = path.resolve(import.meta.dirname, "../results.md");

/** Prints the result; unless it was a quick run, its table replaces that of the run before in results.md. */
export function record(bench: Bench, measured: Measured, quick: boolean): void {
  const lines = [
    `## ${bench.title}${quick ? " (quick)" : ""}`,
    "",
    machineLine(describeMachine()),
    "",
    ...tableOf(measured.figures),
    ...(measured.notes ?? []).flatMap((note) => ["", note]),
    "",
  ];
  console.log(`\n${lines.join("\n")}`);
  if (quick) return;
  const [, ...sections] = existsSync(RESULTS) ? readFileSync(RESULTS, "utf8").split(/^(?=## )/m) : [];
  const others = sections
    .filter((section) => !section.startsWith(`## ${bench.title}\n`))
    .map((section) => section.trim());
  writeFileSync(RESULTS, `${[HEADER, ...others, lines.join("\n").trim()].join("\n\n")}\n`);
}

const HEADER = `# Results

The last run of each benchmark (\`npm run bench -- NAME\`), including targets that were missed. Peers took turns on one machine and one Redis;
only ratios within one run are meaningful; absolute figures depend on the machine.`;

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
