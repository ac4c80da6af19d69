import { type ParseArgsConfig, parseArgs } from "node:util";

/** The options of the command line; with `--help`, prints the usage and ends the process. @throws TypeError for an unknown option */
export function optionsOf<T extends NonNullable<ParseArgsConfig["options"]>>(usage: string, options: T) {
  if (process.argv.includes("--help")) {
    process.stdout.write(`${usage}\n`);
    process.exit(0);
  }
  return parseArgs({ options }).values;
}
