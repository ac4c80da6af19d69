import { writeFileSync } from "node:fs";
import mocha from "mocha";
import type { Failure, Totals } from "./totals.ts";

const OPEN_AFTER_MS = 10_000;
/** The shortest time between two progress reports, ms. */
const NOTE_MS = 250;

/** The progress of a run. */
export interface Progress {
  readonly done: number;
  readonly total: number;
  /** How long each file has taken, ms. */
  readonly files: Readonly<Record<string, number>>;
}

/** How a run has ended. */
export interface Outcome {
  readonly totals: Totals;
  readonly failed: readonly Failure[];
  /** Titles. */
  readonly skipped: readonly string[];
}

/** Mocha's usual report for people, with files for scripts/test-part.ts: `--reporter-option outcome=FILE,progress=FILE`. */
class SpecWithOutcome extends mocha.reporters.Spec {
  constructor(runner: mocha.Runner, options: mocha.MochaOptions) {
    super(runner, options);
    const { outcome, progress } = options.reporterOptions as { outcome: string; progress: string };
    const failed: Failure[] = [];
    runner.on("fail", (test: mocha.Test, error: Error) => {
      failed.push({ title: test.fullTitle(), error: error?.stack ?? String(error) });
    });
    const skipped: string[] = [];
    runner.on("pending", (test: mocha.Test) => skipped.push(test.fullTitle()));
    noteProgress(runner, progress);
    runner.once("end", () => {
      const { passes, failures, pending } = this.stats;
      const totals: Totals = { passed: passes, failed: failures, skipped: pending };
      const end: Outcome = { totals, failed, skipped };
      writeFileSync(outcome, JSON.stringify(end));
      // Only a process that something keeps alive gets here.
      setTimeout(sayWhatIsOpen, OPEN_AFTER_MS).unref();
    });
  }
}

function noteProgress(runner: mocha.Runner, to: string): void {
  const files: Record<string, number> = {};
  let [done, suiteMs, notedMs] = [0, 0, Number.NEGATIVE_INFINITY];
  const note = () => {
    const now: Progress = { done, total: runner.total, files };
    writeFileSync(to, JSON.stringify(now));
    notedMs = performance.now();
  };
  runner.on("suite", (suite: mocha.Suite) => {
    if (suite.parent?.root) suiteMs = performance.now();
  });
  runner.on("suite end", (suite: mocha.Suite) => {
    if (!suite.parent?.root || suite.file === undefined) return;
    files[suite.file] = (files[suite.file] ?? 0) + performance.now() - suiteMs;
    note();
  });
  runner.on("test end", () => {
    done += 1;
    if (performance.now() - notedMs > NOTE_MS) note();
  });
  runner.once("end", note);
}

function sayWhatIsOpen(): void {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const kinds = [...counts].map(([kind, count]) => `${kind} ×${count}`);
  process.stdout.write(`▸ still open ${OPEN_AFTER_MS / 1000} s after the last test: ${kinds.join(", ")}\n`);
}

// biome-ignore lint/style/noDefaultExport: mocha takes a reporter from the default export
export default SpecWithOutcome;
