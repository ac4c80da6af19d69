import { writeFileSync } from "node:fs";
import mocha from "mocha";
import type { Failure, Totals } from "./totals.ts";

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
    });
  }
}

// biome-ignore lint/style/noDefaultExport: mocha takes a reporter from the default export
export default SpecWithOutcome;
