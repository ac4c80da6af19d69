/** The median: the mean of the middle two if their number is even. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** The quantile: the smallest value that this share of the values does not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/**
 * Lets peers take turns, A B C A B C …: a disturbance of the machine then affects all of them. The first round is a warm-up and
 * not counted.
 * @returns what each peer measured, turn by turn
 */
export async function inTurns<K extends string, T>(
  pairs: number,
  peers: Readonly<Record<K, () => Promise<T>>>,
): Promise<Record<K, T[]>> {
  const names = Object.keys(peers) as K[];
  const measured = Object.fromEntries(names.map((name) => [name, [] as T[]])) as Record<K, T[]>;
  for (let turn = 0; turn <= pairs; turn += 1) {
    for (const name of names) {
      const value = await peers[name]();
      if (turn > 0) measured[name].push(value);
    }
  }
  return measured;
}

/** The median over the turns of ours ÷ theirs, since both of one turn ran under the same conditions. */
export function medianRatio(ours: readonly number[], theirs: readonly number[]): number {
  return median(ours.map((value, i) => value / (theirs[i] ?? Number.NaN)));
}
