import { nearest } from "./nearest.ts";

/** Read by commands, not by the server. */
const OF_COMMANDS = ["PAIHAO_URL", "PAIHAO_KEY"];
const PREFIX = "PAIHAO_";
/** What Kubernetes sets in every container for a service whose name begins with paihao. */
const OF_SERVICES = /^PAIHAO_(\w+_)?(SERVICE_(HOST|PORT(_\w+)?)|PORT(_\w+)?)$/;

/** A variable that looks like one of ours, but is not. */
export interface MisspeltVariable {
  readonly name: string;
  /** The variable that may be meant; undefined if none is similar. */
  readonly meant: string | undefined;
}

/**
 * The variables that nothing reads, although their names differ from ours in only a letter or two, or begin with PAIHAO_. All others are
 * ignored: an environment is shared with many programs.
 */
export function misspelt(given: readonly string[], known: readonly string[]): MisspeltVariable[] {
  const ours = new Set([...known, ...OF_COMMANDS]);
  return given.flatMap((name) => {
    if (ours.has(name) || name.startsWith("OTEL_") || OF_SERVICES.test(name)) return [];
    const isPrefixed = name.startsWith(PREFIX);
    const bare = isPrefixed ? name.slice(PREFIX.length) : name;
    const meant = nearest(name, ours, maxMistakes(name)) ?? nearest(bare, known, maxMistakes(bare));
    // If the right one is set too, the other belongs to another program.
    if (meant !== undefined && given.includes(meant)) return [];
    return meant !== undefined || isPrefixed ? [{ name, meant }] : [];
  });
}

/** A short name is more likely to be that of another program, so it must be closer. */
function maxMistakes({ length }: string): number {
  if (length < 6) return 0;
  return length < 10 ? 1 : 2;
}
