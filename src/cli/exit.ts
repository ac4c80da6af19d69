import { constants } from "node:os";
import { CommanderError } from "commander";
import { type ErrorKind, PaihaoError } from "../client/problem.ts";
import { StartError } from "../errors.ts";
import { about, duration } from "../words/numbers.ts";
import { plain } from "./terminal/print.ts";

/** The exit codes of all commands. */
export const EXIT = {
  done: 0,
  /** The task failed; for commands without a task: the command failed, or found something. */
  failed: 1,
  usage: 2,
  /** Unknown, expired or canceled. */
  gone: 3,
  unreachable: 4,
  notAllowed: 5,
  /** Queue full, too many tasks, line too long, conflict. */
  refused: 6,
  timeout: 124,
  /** Of a command that was to be run, as in a shell. */
  notExecutable: 126,
  notFound: 127,
  interrupted: 130,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The exit code of what a signal has ended, as in a shell. */
export function exitCodeOfSignal(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}

/** Ends a command. Its message is for a person; nothing else is printed. */
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
 * @throws the error itself if no command expects it
 */
export function failureOf(error: unknown): { exitCode: ExitCode; message: string | undefined } {
  // The library has printed the help, the version, or what is wrong.
  if (error instanceof CommanderError) {
    return { exitCode: error.exitCode === 0 ? EXIT.done : EXIT.usage, message: undefined };
  }
  if (error instanceof CommandError) return { exitCode: error.exitCode, message: plain(error.message) };
  if (error instanceof StartError) return { exitCode: EXIT.failed, message: error.message };
  if (error instanceof PaihaoError) return { exitCode: exitCodeOf(error), message: messageOf(error) };
  throw error;
}

const BY_KIND = {
  failed: EXIT.failed,
  canceled: EXIT.gone,
  expired: EXIT.gone,
  unknown: EXIT.gone,
  unauthorized: EXIT.notAllowed,
  unreachable: EXIT.unreachable,
} as const satisfies Record<Exclude<ErrorKind, "refused">, ExitCode>;

/** Problems of the kind `refused` that mean something else to a script. */
const BY_CODE: ReadonlyMap<string, ExitCode> = new Map<string, ExitCode>([
  ["unknown-queue", EXIT.gone],
  ["not-found", EXIT.gone],
  ["wrong-host", EXIT.notAllowed],
  ["malformed-json", EXIT.usage],
  ["invalid-input", EXIT.usage],
  ["invalid-parameter", EXIT.usage],
  ["payload-too-large", EXIT.usage],
  ["uri-too-long", EXIT.usage],
  ["unsupported-media-type", EXIT.usage],
]);

function exitCodeOf({ kind, code }: PaihaoError): ExitCode {
  return kind === "refused" ? (BY_CODE.get(code) ?? EXIT.refused) : BY_KIND[kind];
}

/** What went wrong, and what to do about it. */
function messageOf(error: PaihaoError): string {
  const { title, detail = "", errors = [], reason } = error.problem;
  const fields = errors.map((field) => `${field.pointer}: ${field.detail}`).join("; ");
  // The detail often repeats another part.
  const parts = [title, detail === title || fields.includes(detail) ? "" : detail, fields];
  if (reason === "deadline") parts.push("its deadline has passed");
  if (reason === "abandoned") parts.push("nobody looked at it");
  const said = parts.filter((part) => part !== "").join(": ");
  const hint = hintOf(error);
  return plain(hint === undefined ? said : `${said} (${hint})`);
}

function hintOf({ kind, code, retryAfter }: PaihaoError): string | undefined {
  if (code === "unauthenticated") return "pass one with --key or PAIHAO_KEY";
  if (retryAfter !== undefined && kind !== "failed") return `try again in ${about(retryAfter)}`;
  if (code === "unknown")
    return "it was never submitted here, belongs to another caller, or is lost: an embedded store ends with its server";
  return kind === "unreachable" ? "is it running? --url or PAIHAO_URL says where" : undefined;
}

/** What a command waits for, and for how long. */
interface Interruption {
  /** Fires with a CommandError as its reason. */
  readonly signal: AbortSignal;
  /** Stops listening for Ctrl-C and the time limit. */
  end(): void;
}

/**
 * A signal that fires at the first Ctrl-C, or when the time is up. A second Ctrl-C ends the process at once.
 * @param goOn the hint to print then: how the person can go on
 */
export function waitFor(goOn: () => string, timeoutMs?: number): Interruption {
  const controller = new AbortController();
  const stop = (code: typeof EXIT.interrupted | typeof EXIT.timeout, why: string) =>
    controller.abort(new CommandError(code, `${why}; ${goOn()}`));
  const onInterrupt = () => stop(EXIT.interrupted, "interrupted");
  process.once("SIGINT", onInterrupt);
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(() => stop(EXIT.timeout, `not done within ${duration(timeoutMs / 1000)}`), timeoutMs);
  return {
    signal: controller.signal,
    end: () => {
      process.removeListener("SIGINT", onInterrupt);
      clearTimeout(timer);
    },
  };
}
