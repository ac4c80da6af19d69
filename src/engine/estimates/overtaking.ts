/** Steps in which the number of lines is searched. */
const STEPS = 40;

/** What is known of a line with limits per key. */
interface KeyedLine {
  /** How many tasks are before the one in question, and how many of these may start now. */
  readonly index: number;
  readonly startable: number;
  readonly running: number;
  /** How many tasks run at once. */
  readonly atOnce: number;
  /** How many tasks of one key run at once. */
  readonly limit: number;
  /** Which share of the waiting tasks has the most frequent key. */
  readonly mostFrequent: number;
}

/** A key with a larger share of the line is looked at by itself. */
const FLOOD = 0.5;

/**
 * How many of the tasks before one will start before it. Those that wait for their key start as the tasks of that key end, and then come first.
 * The task in question overtakes them only when fewer keys than slots are left before it: so it overtakes the more, the fewer keys there are.
 * Assumes that the tasks are spread evenly over keys: as many of these as make the number of tasks that run or may start what it is. A key with
 * most of the line is left out with the slots that it keeps busy.
 */
export function startsBefore(line: KeyedLine): number {
  const { index, startable, running, atOnce, limit, mostFrequent } = line;
  const others = Math.max(1, atOnce - limit);
  if (mostFrequent < FLOOD || others === atOnce || atOnce <= limit) return evenly(line);
  const left = {
    index: Math.round(index * (1 - mostFrequent)),
    startable,
    running: Math.max(0, running - limit),
    atOnce: others,
  };
  const turnovers = evenly({ ...left, index: Math.max(left.index, startable) }) + left.running - others + 1;
  // As many turnovers of all slots take as long.
  return Math.max(startable, Math.round((turnovers * atOnce) / others) - running + atOnce - 1);
}

function evenly({ index, startable, running, atOnce }: Omit<KeyedLine, "limit" | "mostFrequent">): number {
  const taken = atOnce - 1;
  if (startable >= index || running + startable <= taken) return startable;
  const keys = keysOf(index + running, running + startable);
  if (keys <= taken) return startable;
  // Of so many tasks, just as many may start as there are slots for.
  const left = Number.isFinite(keys) ? -keys * Math.log(1 - taken / keys) : taken;
  return Math.max(startable, Math.round(index + taken - left));
}

/** Of how many keys so many tasks are, if so many of these keys occur. */
function keysOf(tasks: number, found: number): number {
  if (found >= tasks) return Number.POSITIVE_INFINITY;
  let [few, many] = [found, found];
  const foundOf = (keys: number) => keys * (1 - Math.exp(-tasks / keys));
  while (foundOf(many) < found - 1e-9 && many < 1e12) many *= 2;
  for (let n = 0; n < STEPS; n += 1) {
    const middle = (few + many) / 2;
    if (foundOf(middle) < found) few = middle;
    else many = middle;
  }
  return many;
}
