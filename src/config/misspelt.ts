/** Read by commands, not by the server. */
const OF_COMMANDS = ["PAIHAO_URL", "PAIHAO_KEY"];
const PREFIX = "PAIHAO_";
/** What Kubernetes sets in every container for a service whose name begins with paihao. */
const OF_SERVICES = /^PAIHAO_(\w+_)?(SERVICE_(HOST|PORT(_\w+)?)|PORT(_\w+)?)$/;

/** A variable that looks like one of ours, and is none. */
export interface MisspeltVariable {
  readonly name: string;
  /** The one that may be meant; undefined if none is similar. */
  readonly meant: string | undefined;
}

/**
 * The variables that nothing reads, although their names are ours but for a letter or two, or begin with PAIHAO_. Others may have any name:
 * an environment is shared with many programs.
 */
export function misspelt(given: readonly string[], known: readonly string[]): MisspeltVariable[] {
  const ours = new Set([...known, ...OF_COMMANDS]);
  return given.flatMap((name) => {
    if (ours.has(name) || name.startsWith("OTEL_") || OF_SERVICES.test(name)) return [];
    const isPrefixed = name.startsWith(PREFIX);
    const bare = isPrefixed ? name.slice(PREFIX.length) : name;
    const meant = nearest(name, [...ours]) ?? nearest(bare, known);
    // Where the right one is set too, the other belongs to another program.
    if (meant !== undefined && given.includes(meant)) return [];
    return meant !== undefined || isPrefixed ? [{ name, meant }] : [];
  });
}

function nearest(name: string, known: readonly string[]): string | undefined {
  const upper = name.toUpperCase();
  const most = upper.length < 6 ? 0 : upper.length < 10 ? 1 : 2;
  const [best] = known
    .map((one) => ({ one, edits: editsBetween(upper, one) }))
    .filter(({ edits }) => edits <= most)
    .sort((a, b) => a.edits - b.edits);
  return best?.one;
}

/** How many letters are wrong, missing, too many, or in the place of their neighbour (optimal string alignment). */
function editsBetween(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  const at = (i: number, j: number) => rows[i]?.[j] ?? 0;
  for (let i = 1; i <= a.length; i += 1) {
    rows.push([i]);
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const edits = Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + same);
      rows[i]?.push(swapped ? Math.min(edits, at(i - 2, j - 2) + 1) : edits);
    }
  }
  return at(a.length, b.length);
}
