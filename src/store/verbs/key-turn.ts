/** What the start of a waiting task in a keyed line depends on. */
export interface KeyTurn {
  /** How many tasks that may start come before it. */
  readonly before: number;
  /** How many tasks of its key must end before it may start. */
  readonly ends: number;
  /** How many of these run at once. */
  readonly limit: number;
}

/** Reads what lua/keyed.lua tells; null if there is nothing. */
export function keyTurn(words: readonly string[]): KeyTurn | null {
  const [before, ends, limit] = words;
  if (limit === undefined) return null;
  return { before: Number(before), ends: Number(ends), limit: Number(limit) };
}
