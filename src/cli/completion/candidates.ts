import type { Command, Option } from "commander";

/** A word that can be completed at the cursor. */
export interface Candidate {
  readonly word: string;
  readonly description: string;
}

/** Gets the names of the queues on which a command can be used. */
export type QueueNames = (url: string | undefined, command: string) => Promise<readonly string[]>;

/**
 * The words that may complete the last word of a command line.
 * @param words after `paihao`; the last may be empty
 */
export async function candidatesFor(
  program: Command,
  words: readonly string[],
  queueNames: QueueNames,
): Promise<Candidate[]> {
  const typed = words.at(-1) ?? "";
  const { command, option, position, url } = placeOf(program, words.slice(0, -1));
  const all = await candidatesAt();
  return all.filter(({ word }) => word.startsWith(typed));

  async function candidatesAt(): Promise<Candidate[]> {
    if (option) return (option.argChoices ?? []).map((word) => ({ word, description: "" }));
    if (typed.startsWith("-")) return optionsOf(command);
    const subcommands = command.createHelp().visibleCommands(command);
    if (command.commands.length > 0) {
      return subcommands.map((made) => ({ word: made.name(), description: made.description() }));
    }
    const argument = command.registeredArguments[position] ?? command.registeredArguments.at(-1);
    if (argument?.argChoices) return argument.argChoices.map((word) => ({ word, description: "" }));
    if (argument?.name() !== "queue" || position > 0) return [];
    return (await queueNames(url, command.name())).map((word) => ({ word, description: "queue" }));
  }
}

/** Where the cursor is: in which command, after which option that takes a value, at which argument. */
export function placeOf(program: Command, before: readonly string[]) {
  let command = program;
  let option: Option | undefined;
  let position = 0;
  let url: string | undefined;
  for (const word of before) {
    if (option) {
      if (option.long === "--url") url = word;
      option = undefined;
    } else if (word.startsWith("-")) {
      const [flag, value] = word.split("=", 2);
      const named = [...command.options, ...program.options].find(({ long, short }) => flag === long || flag === short);
      if (named?.long === "--url") url = value;
      option = value === undefined && named?.required ? named : undefined;
    } else {
      const sub = command.commands.find((made) => made.name() === word || made.alias() === word);
      if (sub) command = sub;
      else position += 1;
    }
  }
  return { command, option, position, url };
}

function optionsOf(command: Command): Candidate[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .flatMap(({ long, description }) => (long ? [{ word: long, description }] : []));
}
