import { writeFileSync } from "node:fs";
import path from "node:path";
import { drawBars } from "./harness/bars.ts";
import type { Series } from "./harness/bench.ts";
import { drawChart } from "./harness/chart.ts";
import { machineLine } from "./harness/machine.ts";
import { newestRecorded, RESULTS_DIR, type Recorded } from "./harness/record.ts";

const PLOTS = [
  {
    plot: "concurrency",
    bench: "run",
    title: "No-op tasks per second by concurrency, one worker process",
    xLabel: "concurrency (log)",
    yLabel: "tasks/s",
  },
  {
    plot: "depth",
    bench: "depth",
    title: "Cost of reading one's place, by length of the line",
    xLabel: "tasks waiting (log)",
    yLabel: "µs of CPU per read",
  },
] as const;

/** Draws the newest measurements of each curve, recorded ones if there are any; returns the files written. */
export function plot(): string[] {
  return [...plotCurves(), plotCpu()];
}

/** The benchmarks whose CPU use is drawn, in this order. */
const CPU = ["accept", "sync-load", "run"] as const;

function plotCpu(): string {
  const recorded = CPU.map((bench) => newestRecorded(bench)).filter((one) => one?.cpu !== undefined);
  const [first] = recorded;
  if (!first) return `no measurements yet: npm run bench -- ${CPU.join(" ")}`;
  const file = path.join(RESULTS_DIR, "cpu.svg");
  const uses = recorded.flatMap((one) => one?.cpu ?? []);
  const title = "CPU time of one request or task, by process";
  writeFileSync(file, drawBars(uses, { title, caption: captionOf(first) }));
  return path.relative(process.cwd(), file);
}

function captionOf({ quick, machine }: Recorded): string {
  return `${quick ? "quick run, not for the record · " : ""}${machineLine(machine).split(", koa")[0]}`;
}

function plotCurves(): string[] {
  return PLOTS.flatMap(({ plot: kind, bench, ...labels }) => {
    const recorded = newestRecorded(bench);
    const series = recorded?.series?.filter((one: Series) => one.plot === kind) ?? [];
    if (!recorded || series.length === 0) return [`no measurements yet: npm run bench -- ${bench}`];
    const file = path.join(RESULTS_DIR, `${kind}.svg`);
    writeFileSync(file, drawChart(series, { ...labels, caption: captionOf(recorded) }));
    return [path.relative(process.cwd(), file)];
  });
}
