import { Command, Option } from "commander";
import { PaihaoError } from "../client/problem.ts";
import { localUrl } from "./environment.ts";
import { CommandError, EXIT, type ExitCode, failureOf } from "./exit.ts";
import type { ServerOptions } from "./server.ts";
import { note, printJson, printJsonLine } from "./terminal/print.ts";

/** The options of every command that talks to a server. */
export interface ClientOptions extends ServerOptions {
  readonly json?: boolean;
}

const URL_FLAGS = "--url <url>";
const KEY_FLAGS = "--key <key>";

/**
 * A command, with examples at the end of its help; a test runs each of them.
 * @param form its name and arguments, e.g. `watch <id>`
 */
export function command(form: string, summary: string, examples: readonly string[]): Command {
  const [name = "", ...args] = form.split(" ");
  const made = new Command(name).description(summary).exitOverride().showHelpAfterError("(--help shows examples)");
  for (const arg of args) made.argument(arg);
  return withExamples(made.helpCommand(false), examples);
}

/** Examples at the end of the help. */
export function withExamples(made: Command, examples: readonly string[]): Command {
  return made.addHelpText("after", `\nExamples:\n${examples.map((example) => `  ${example}`).join("\n")}`);
}

/** A command that talks to a server, and prints nothing of its own on standard output. */
export function silentCommand(form: string, summary: string, examples: readonly string[]): Command {
  return command(form, summary, examples)
    .option(URL_FLAGS, `the server (PAIHAO_URL, else by HOST and PORT: ${localUrl()})`)
    .option(KEY_FLAGS, "an API key (PAIHAO_KEY)");
}

/** A command that talks to a server. */
export function clientCommand(form: string, summary: string, examples: readonly string[]): Command {
  return silentCommand(form, summary, examples).option("--json", "print JSON: one value, or one per line");
}

/**
 * Options that may stand before or after the name of a command. Commands declare them again for their help.
 */
export function globalOptions(): readonly Option[] {
  return [
    new Option(URL_FLAGS).env("PAIHAO_URL").default(localUrl()).hideHelp(),
    new Option(KEY_FLAGS).env("PAIHAO_KEY").hideHelp(),
  ];
}

/**
 * The action of a command that talks to a server. With --json, the problem of a refused request is printed as well.
 * @param run gets all options and then the arguments; its result is the exit code, 0 without one
 */
export function clientAction<Options extends ClientOptions, Args extends unknown[]>(
  run: (options: Options, ...args: Args) => Promise<number | undefined>,
): (this: Command) => Promise<void> {
  return async function (this: Command) {
    const options = this.optsWithGlobals<Options>();
    try {
      process.exitCode = (await run(options, ...(this.processedArgs as Args))) ?? EXIT.done;
    } catch (error) {
      if (!(error instanceof PaihaoError)) throw error;
      if (options.json) printJson(error.problem);
      if (error.code !== "unauthenticated" || !options.key) throw error;
      const said =
        "The server does not know this API key: is the key in --key or PAIHAO_KEY misspelt, for another server, or revoked?";
      throw new CommandError(EXIT.notAllowed, said, { cause: error });
    }
  };
}

/**
 * Does something to tasks, one after the other. It goes on if a task is refused, and ends if the server does not answer or refuses the key.
 * @returns the first exit code that is not 0
 */
export async function forEachId(
  ids: readonly string[],
  { json }: { readonly json?: boolean },
  act: (id: string) => Promise<ExitCode>,
): Promise<ExitCode> {
  let first: ExitCode = EXIT.done;
  for (const id of ids) {
    let exitCode: ExitCode;
    try {
      exitCode = await act(id);
    } catch (error) {
      const isAboutTask =
        error instanceof CommandError ||
        (error instanceof PaihaoError && error.kind !== "unreachable" && error.kind !== "unauthorized");
      if (ids.length === 1 || !isAboutTask) throw error;
      const failure = failureOf(error);
      exitCode = failure.exitCode;
      note(`paihao: ${id}: ${failure.message}`);
      if (json && error instanceof PaihaoError) printJsonLine(error.problem);
    }
    if (first === EXIT.done) first = exitCode;
  }
  return first;
}
