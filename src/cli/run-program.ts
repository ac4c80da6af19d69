import { type ChildProcess, spawn } from "node:child_process";
import { isatty } from "node:tty";
import { messageOf } from "../errors.ts";
import { withoutFile } from "./environment.ts";
import { EXIT, exitCodeOfSignal } from "./exit.ts";
import { note } from "./terminal/print.ts";

/** A program of the user that runs in place of this one: it has its streams and its environment. */
export interface RunningProgram {
  /** Resolves with its exit code, as a shell tells it. */
  readonly ended: Promise<number>;
  /** Passes on a signal that this process got. */
  pass(signal: NodeJS.Signals): void;
  /** Ends it: TERM, and after a time KILL. */
  stop(killAfterMs: number): void;
}

/** Starts a program. What cannot be started is told on stderr, and ends as in a shell. */
export function startProgram(
  file: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): RunningProgram {
  let child: ChildProcess;
  try {
    // biome-ignore lint/style/noProcessEnv: the program has the environment of this one
    child = spawn(file, args, { stdio: "inherit", env: { ...process.env, ...withoutFile(), ...env } });
  } catch (error) {
    return { ended: Promise.resolve(notStarted(file, error)), pass: () => undefined, stop: () => undefined };
  }
  const ended = new Promise<number>((resolve) => {
    child.once("error", (error) => {
      if (child.pid === undefined) resolve(notStarted(file, error));
    });
    child.once("exit", (code, signal) => resolve(signal === null ? (code ?? EXIT.failed) : exitCodeOfSignal(signal)));
  });
  // A terminal sends these to all processes of the group, so the program has them already.
  const isOnTerminal = [0, 1, 2].some((fd) => isatty(fd));
  return {
    ended,
    pass(signal) {
      if (!isOnTerminal || signal === "SIGTERM") child.kill(signal);
    },
    stop(killAfterMs) {
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), killAfterMs);
      void ended.then(() => clearTimeout(timer));
    },
  };
}

/** Tells why a program could not be started. */
function notStarted(file: string, error: unknown): number {
  if ((error as NodeJS.ErrnoException).code === "ENOENT") return notFound(file);
  note(`paihao: ${file} cannot be run: ${messageOf(error)}`);
  return EXIT.notExecutable;
}

/** Tells that there is no such program. */
export function notFound(file: string): number {
  note(`paihao: ${file} is not found`);
  return EXIT.notFound;
}
