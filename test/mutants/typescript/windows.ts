import { createHash } from "node:crypto";

/** A sample consists of windows of this many lines, since StrykerJS can be told lines, but not single mutants. */
const WINDOW_LINES = 10;
const SEED = "1";

/**
 * The lines of a share of a file's windows, in the form that StrykerJS takes: `src/net/deadline.ts:11-30`. Mutants that reach beyond a
 * window are left out: they are mostly whole functions, which tests notice best. The choice is random but always the same.
 *
 * @param share 0 to 1; 1: the whole file
 */
export function windowsOf(file: string, lines: number, share: number): string[] {
  if (share >= 1) return [file];
  const count = Math.ceil(lines / WINDOW_LINES);
  const chosen = Array.from({ length: count }, (_, n) => n).filter((n) => lotOf(`${file} ${n}`) < share);
  return chosen.map((n) => `${file}:${n * WINDOW_LINES + 1}-${(n + 1) * WINDOW_LINES}`);
}

/** 0 to 1. */
const lotOf = (name: string): number => createHash("sha1").update(`${SEED} ${name}`).digest().readUInt32BE() / 2 ** 32;
