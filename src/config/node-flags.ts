/** Flags of Node that take the program or the mode of this process with them; the first kind is followed by a value. */
const PROGRAM = /^(?:-e|--eval|-p|--print|-pe)$/;
const OF_THIS_PROCESS = /^--(?:inspect|input-type|eval=|print=|test|watch)/;

/** The flags of this process that processes it starts should have too, such as loaders and limits. */
export function inheritedFlags(flags: readonly string[] = process.execArgv): string[] {
  return flags.filter(
    (flag, i) => !PROGRAM.test(flag) && !OF_THIS_PROCESS.test(flag) && !PROGRAM.test(flags[i - 1] ?? ""),
  );
}
