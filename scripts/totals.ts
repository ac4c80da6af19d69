/** The outcome of a suite, as in the last line of every test command. */
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

/** A test that failed: its full title, and its error with the stack. */
export interface Failure {
  readonly title: string;
  readonly error: string;
}

/** A failure for the end of a long report, where people look first; `.ci/run` repeats lines that begin like this. */
export function failureLines(where: string, { title, error }: Failure): string {
  return [`${where}: ${title}`, ...error.split("\n").slice(0, 12)].map((line) => `✘ ${line}\n`).join("");
}
