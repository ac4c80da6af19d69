import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../shared/root.ts";
import type { Mutant } from "./files.ts";

const FILE = join(ROOT, "test/mutants/lua/equivalents.txt");

const nameOf = ({ file, before, after }: Pick<Mutant, "file" | "before" | "after">): string =>
  `${file} ${before} → ${after}`;

/** The names of mutants that no test can tell from the original. */
function equivalents(): string[] {
  const pairs = readFileSync(FILE, "utf8").matchAll(/^(\S+\.lua) +(.*)\n +→ ?(.*)$/gm);
  return [...pairs].map(([, file = "", before = "", after = ""]) => nameOf({ file, before, after: after.trim() }));
}

/** The mutants that a test can tell from the original, and the names of equivalents to which no mutant belongs. */
export function withoutEquivalents(mutants: readonly Mutant[]): { mutants: Mutant[]; unused: string[] } {
  const named = new Set(equivalents());
  const all = new Set(mutants.map(nameOf));
  return {
    mutants: mutants.filter((mutant) => !named.has(nameOf(mutant))),
    unused: [...named].filter((name) => !all.has(name)),
  };
}
