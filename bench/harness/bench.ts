/** How a benchmark is run. */
export interface BenchOptions {
  /** A short run that shows whether it works and a rough figure; it is not recorded. */
  readonly quick: boolean;
  /** How often the peers take turns. */
  readonly pairs: number;
  /** Reports the progress. */
  say(line: string): void;
}

/** What a figure has to reach, in its own unit. */
export type Target = { readonly atLeast: number } | { readonly atMost: number };

/** One figure of the table. */
export interface Figure {
  /** What was measured. */
  readonly figure: string;
  /** What it is compared with. */
  readonly against: string;
  /** The store's settings, if there is a store. */
  readonly store: string;
  /** The medians behind it, for illustration: absolute figures depend on the machine. */
  readonly ours: string;
  readonly theirs: string;
  /** The value that is judged. */
  readonly value: number;
  readonly unit: "×" | "ms" | "" | "%" | "B" | "/s" | "µs";
  /** Null for a figure without a target. */
  readonly target: Target | null;
}

/** What a benchmark found. */
export interface Measured {
  readonly figures: readonly Figure[];
  /** Remarks on the figures. */
  readonly notes?: readonly string[];
}

/** A benchmark: one row (or a few that belong together) of the table, and one command. */
export interface Bench {
  readonly name: string;
  readonly title: string;
  run(options: BenchOptions): Promise<Measured>;
}

/** Whether a figure reaches its target; null if it has none. */
export function isReached({ value, target }: Figure): boolean | null {
  if (target === null) return null;
  return "atLeast" in target ? value >= target.atLeast : value <= target.atMost;
}
