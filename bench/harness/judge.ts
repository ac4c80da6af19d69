import type { Figure, Target } from "./bench.ts";
import { median, medianRatio } from "./turns.ts";

/** The measurements of two peers, turn by turn, and how to report them. */
export interface Comparison {
  readonly figure: string;
  readonly against: string;
  readonly store: string;
  readonly ours: readonly number[];
  readonly theirs: readonly number[];
  /** How a measurement is shown. */
  show(value: number): string;
  readonly target: Target | null;
}

/** The figure of a comparison: the median over the turns of ours ÷ theirs. */
export function compare({ figure, against, store, ours, theirs, show, target }: Comparison): Figure {
  return {
    figure,
    against,
    store,
    ours: show(median(ours)),
    theirs: show(median(theirs)),
    value: medianRatio(ours, theirs),
    unit: "×",
    target,
  };
}

export const perSecond = (value: number): string => `${Math.round(value).toLocaleString("en")}/s`;
export const milliseconds = (value: number): string => `${value.toFixed(2)} ms`;
export const micros = (value: number): string => `${Math.round(value)} µs`;
export const bytes = (value: number): string => `${Math.round(value)} B`;
