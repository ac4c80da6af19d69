import type { Mutant } from "./files.ts";

/** A mutant with which everything behaves as before, so that no test can tell. */
interface Equivalent {
  readonly file: string;
  /** The line, and what becomes of it, as a report shows them. */
  readonly before: string;
  readonly after: string;
  readonly reason: string;
}

/** All of them. One that no longer is a mutant is reported. */
const EQUIVALENTS: readonly Equivalent[] = [];

const nameOf = ({ file, before, after }: Pick<Mutant, "file" | "before" | "after">): string =>
  `${file} ${before} → ${after}`;

/** The mutants that a test can tell from the original, and the entries above to which no mutant belongs. */
export function withoutEquivalents(mutants: readonly Mutant[]): { mutants: Mutant[]; unused: Equivalent[] } {
  const named = new Set(EQUIVALENTS.map(nameOf));
  const all = new Set(mutants.map(nameOf));
  return {
    mutants: mutants.filter((mutant) => !named.has(nameOf(mutant))),
    unused: EQUIVALENTS.filter((entry) => !all.has(nameOf(entry))),
  };
}
