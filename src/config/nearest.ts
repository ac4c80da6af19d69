/** A name with more mistakes than this is another name. */
const MAX_MISTAKES = 2;

/**
 * The name that was probably meant: the one of `names` from which a misspelt one differs least, whatever their case. Undefined if none is
 * like it.
 * @param max how many mistakes it may have
 */
export function nearest(
  misspelt: string,
  names: Iterable<string>,
  max = Math.min(MAX_MISTAKES, Math.floor(misspelt.length / 2)),
): string | undefined {
  let best: string | undefined;
  let fewest = max + 1;
  for (const name of names) {
    // Far apart in length, they are far apart; and a caller's text may be long.
    if (Math.abs(name.length - misspelt.length) >= fewest) continue;
    const mistakes = distance(misspelt.toLowerCase(), name.toLowerCase());
    if (mistakes >= fewest) continue;
    best = name;
    fewest = mistakes;
  }
  return best;
}

/** `; did you mean "timeout"?`, or nothing if no name is like it. */
export function hint(misspelt: string, names: Iterable<string>): string {
  const name = nearest(misspelt, names);
  return name === undefined ? "" : `; did you mean ${JSON.stringify(name)}?`;
}

/** How many letters must be added, left out, changed, or swapped with the next one. */
function distance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, n) => n);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const changed = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let min = Math.min(changed, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        min = Math.min(min, (beforeLast[j - 2] ?? 0) + 1);
      }
      row.push(min);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
