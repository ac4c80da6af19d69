import { CommanderError } from "commander";
import { StartError } from "../errors.ts";

/** The exit codes of all commands. */
export const EXIT = {
  done: 0,
  /** The task failed; for commands without a task: it did not work, or something was found. */
  failed: 1,
  usage: 2,
  /** Unknown, expired or canceled. */
  gone: 3,
  unreachable: 4,
  notAllowed: 5,
  /** Queue full, line too long, conflict. */
  refused: 6,
  timeout: 124,
  interrupted: 130,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A command that cannot go on. The message is for a person; nothing else is printed. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

/** A value on the command line that cannot be used. */
export function wrongUsage(message: string): CommandError {
  return new CommandError(EXIT.usage, message);
}

/**
 * What an error means for the process: its exit code, and a line for the person unless one was printed already.
 * @throws the error itself if it is none that a command expects
 */
export function failureOf(error: unknown): { exitCode: number; message: string | undefined } {
  // The library has printed the help, the version, or what is wrong.
  if (error instanceof CommanderError)
    return { exitCode: error.exitCode === 0 ? EXIT.done : EXIT.usage, message: undefined };
  if (error instanceof CommandError) return { exitCode: error.exitCode, message: error.message };
  if (error instanceof StartError) return { exitCode: EXIT.failed, message: error.message };
  throw error;
}
