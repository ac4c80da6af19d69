import type { Command } from "commander";
import { placeOf } from "./completion/candidates.ts";

/** Names of members, and of nested members. */
const FIELDS = /^[A-Za-z]\w*(?:\.\w+)*(?:,[A-Za-z]\w*(?:\.\w+)*)*$/;

/** Reads the fields of `--json`; none: all. */
export function readFields(value: string): true | readonly string[] {
  return value === "" ? true : value.split(",");
}

/**
 * The words of a command line, where `--json` takes the next word only if that is a list of fields: it has commas, or comes after all
 * arguments of the command, as in `paihao status ID --json state`. In `paihao status --json ID` it is the argument. `--json=FIELDS` is
 * always a list.
 */
export function withFields(program: Command, words: readonly string[]): string[] {
  const end = words.indexOf("--");
  const n = words.indexOf("--json");
  if (n === -1 || (end !== -1 && end < n)) return [...words];
  const before = words.slice(0, n);
  const { command, position } = placeOf(program, before);
  // For commands that take no fields, it is a flag.
  if (!command.options.find(({ long }) => long === "--json")?.optional) return [...words];
  const [next = "", ...rest] = words.slice(n + 1);
  const args = command.registeredArguments;
  const isComplete = position >= args.length && !args.at(-1)?.variadic;
  const isFields = FIELDS.test(next) && (next.includes(",") || isComplete);
  return isFields ? [...before, `--json=${next}`, ...rest] : [...before, "--json=", ...words.slice(n + 1)];
}
