import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { eventually } from "../shared/eventually.ts";
import { builtCommand } from "./build.ts";

/** How a command is run. */
export interface CliOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** What it reads from stdin; nothing by default. */
  readonly input?: string;
  readonly cwd?: string;
}

/** What a command has printed, and its exit code or the signal that ended it. */
export interface CliOutcome {
  readonly code: number | NodeJS.Signals;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running command, with pipes for its streams, as in a script. */
export interface CliProcess {
  readonly child: ChildProcess;
  readonly ended: Promise<CliOutcome>;
  /** Waits until it has printed this. */
  until(pattern: RegExp): Promise<void>;
}

/** Starts `paihao` with these arguments. */
export function startCli(args: readonly string[], { env = {}, input = "", cwd }: CliOptions = {}): CliProcess {
  const child = spawn(process.execPath, [...builtCommand(), ...args], {
    ...(cwd !== undefined && { cwd }),
    env: { PATH: process.env.PATH ?? "", ...env },
  });
  const printed = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      printed[name] += text;
    });
  }
  // It may end without reading everything.
  child.stdin.on("error", () => undefined).end(input);
  const ended = once(child, "close").then(([code, signal]) => ({ code: signal ?? code, ...printed }) as CliOutcome);
  return {
    child,
    ended,
    until: async (pattern) => {
      await eventually(() => {
        if (pattern.test(printed.stdout) || pattern.test(printed.stderr)) return true;
        if (child.exitCode !== null) throw new Error(`it ended: ${JSON.stringify(printed)}`);
        return false;
      }, 30_000);
    },
  };
}

/** Runs `paihao` with these arguments to its end. */
export function runCli(args: readonly string[], options?: CliOptions): Promise<CliOutcome> {
  return startCli(args, options).ended;
}

/** How a line of a shell is run. */
export interface LineOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Runs a line as somebody who copied it from a page would, with `paihao` as a command. A command that does not end by itself is stopped
 * when it prints that it is ready.
 */
export async function runLine(line: string, { cwd, env }: LineOptions): Promise<{ code: number; printed: string }> {
  const command = [process.execPath, ...builtCommand()].map((word) => `'${word}'`).join(" ");
  const child = spawn("bash", ["-c", `paihao() { ${command} "$@"; }\n${line}`], {
    cwd,
    env: { PATH: process.env.PATH, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      printed += text;
      // The whole group: the shell would not pass it on.
      if (/ is ready/.test(text)) process.kill(-(child.pid ?? 0), "SIGTERM");
    });
  }
  const [code] = await once(child, "close");
  return { code: code ?? 0, printed };
}
