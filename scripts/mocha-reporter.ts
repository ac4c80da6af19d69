import { writeFileSync } from "node:fs";
import mocha from "mocha";
import type { Failure, Totals } from "./totals.ts";

const OPEN_AFTER_MS = 10_000;

/** Mocha's usual report for people, and its outcome as JSON for scripts/test.ts: `--reporter-option outcome=FILE`. */
class SpecWithOutcome extends mocha.reporters.Spec {
  constructor(runner: mocha.Runner, options: mocha.MochaOptions) {
    super(runner, options);
    const { outcome } = options.reporterOptions as { outcome: string };
    const failed: Failure[] = [];
    runner.on("fail", (test: mocha.Test, error: Error) => {
      failed.push({ title: test.fullTitle(), error: error?.stack ?? String(error) });
    });
    runner.once("end", () => {
      const { passes, failures, pending } = this.stats;
      const totals: Totals = { passed: passes, failed: failures, skipped: pending };
      writeFileSync(outcome, JSON.stringify({ totals, failed }));
      // Only a process that something keeps from ending lives to say it.
      setTimeout(sayWhatIsOpen, OPEN_AFTER_MS).unref();
    });
  }
}

function sayWhatIsOpen(): void {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const kinds = [...counts].map(([kind, count]) => `${kind} ×${count}`);
  process.stdout.write(`▸ still open ${OPEN_AFTER_MS / 1000} s after the last test: ${kinds.join(", ")}\n`);
}

// biome-ignore lint/style/noDefaultExport: mocha takes a reporter from the default export
export default SpecWithOutcome;
