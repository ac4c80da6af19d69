/** How a suite ended, as the last line of every test command says it. */
export interface Totals {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export const NONE: Totals = { passed: 0, failed: 0, skipped: 0 };

export function add(a: Totals, b: Totals): Totals {
  return { passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: a.skipped + b.skipped };
}

/** The line that scripts and CI read: `N passed, N failed, N skipped`. */
export function totalsLine({ passed, failed, skipped }: Totals): string {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}
