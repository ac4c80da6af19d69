import { writeFileSync } from "node:fs";
import mocha from "mocha";
import type { Totals } from "./totals.ts";

/** Mocha's usual report for people, and the totals as JSON for scripts/test.ts: `--reporter-option totals=FILE`. */
class SpecWithTotals extends mocha.reporters.Spec {
  constructor(runner: mocha.Runner, options: mocha.MochaOptions) {
    super(runner, options);
    const { totals } = options.reporterOptions as { totals: string };
    runner.once("end", () => {
      const { passes, failures, pending } = this.stats;
      const sums: Totals = { passed: passes, failed: failures, skipped: pending };
      writeFileSync(totals, JSON.stringify(sums));
    });
  }
}

// biome-ignore lint/style/noDefaultExport: mocha takes a reporter from the default export
export default SpecWithTotals;
