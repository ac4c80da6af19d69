import { Command, Option } from "commander";

/** Where the server is that a command talks to, and as whom. */
export interface ServerOptions {
  readonly url: string;
  readonly key?: string;
}

/** The options of every command that talks to a server. */
export interface ClientOptions extends ServerOptions {
  readonly json?: boolean;
}

const URL_FLAGS = "--url <url>";
const KEY_FLAGS = "--key <key>";
const DEFAULT_URL = "http://127.0.0.1:3000";

/**
 * A command, with examples at the end of its help; a test runs each of them.
 * @param form its name and arguments, e.g. `watch <id>`
 */
export function command(form: string, summary: string, examples: readonly string[]): Command {
  const [name = "", ...args] = form.split(" ");
  const made = new Command(name).description(summary).exitOverride().showHelpAfterError("(--help shows examples)");
  if (args.length > 0) made.arguments(args.join(" "));
  const lines = examples.map((example) => `  ${example}`);
  return made.addHelpText("after", `\nExamples:\n${lines.join("\n")}`);
}

/** A command that talks to a server. */
export function clientCommand(form: string, summary: string, examples: readonly string[]): Command {
  return command(form, summary, examples)
    .option(URL_FLAGS, `the server (PAIHAO_URL, default ${DEFAULT_URL})`)
    .option(KEY_FLAGS, "an API key (PAIHAO_KEY)")
    .option("--json", "print JSON: one value, or one a line");
}

/**
 * Options that may stand before the name of a command as well as behind it: the program takes them wherever they stand. Commands
 * declare them again for their help, and read them with `optsWithGlobals()`.
 */
export const globalOptions: readonly Option[] = [
  new Option(URL_FLAGS).env("PAIHAO_URL").default(DEFAULT_URL).hideHelp(),
  new Option(KEY_FLAGS).env("PAIHAO_KEY").hideHelp(),
];
