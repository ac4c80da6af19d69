import { reasonOf } from "../errors.ts";

/** Errors of a server that answers but refuses a command, and what they mean to an operator. */
const REFUSALS: readonly (readonly [pattern: RegExp, meaning: string])[] = [
  [
    /\bMISCONF\b/,
    "the store refuses writes: it cannot save to its disk, which is full or read-only, or its directory is gone; see its log",
  ],
  [
    /\bNOREPLICAS\b/,
    "the store refuses writes: it has fewer connected replicas than its min-replicas-to-write requires",
  ],
  [/\bREADONLY\b/, "the store refuses writes: it is a replica; name its master, or use sentinels"],
  [/\bOOM command not allowed\b/, "the store refuses writes: its memory is full, see its maxmemory"],
];

/**
 * Why the store refuses writes, in words for an operator; undefined if it has refused nothing, e.g. since it could not be reached.
 * @param thrown the answer of the store, or an error made from it
 */
export function refusalOf(thrown: unknown): string | undefined {
  const said = reasonOf(thrown);
  return REFUSALS.find(([pattern]) => pattern.test(said))?.[1];
}
