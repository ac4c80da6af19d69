import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { eventually } from "../shared/eventually.ts";
import { builtCommand } from "./build.ts";
import { assertFetched, type Fetched } from "./http/fetched.ts";

/** How a command is run. */
export interface CliOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** What it reads from stdin; nothing by default. */
  readonly input?: string;
  readonly cwd?: string;
  /** Whether the answers that it gets are to be as the contract says; false for a server that is not ours. */
  readonly contract?: boolean;
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

/** Loaded before the command. */
const RECORDER = new URL("http/recorded-fetch.mjs", import.meta.url).href;

/** Starts `paihao` with these arguments. Its outcome is an error if an answer that it got breaks the contract. */
export function startCli(
  args: readonly string[],
  { env = {}, input = "", cwd, contract = true }: CliOptions = {},
): CliProcess {
  const dir = mkdtempSync(path.join(tmpdir(), "paihao-answers-"));
  const answers = path.join(dir, "answers");
  const recorder = contract ? [`--import=${RECORDER}`] : [];
  const child = spawn(process.execPath, [...recorder, ...builtCommand(), ...args], {
    ...(cwd !== undefined && { cwd }),
    env: { PATH: process.env.PATH ?? "", RECORD_ANSWERS: answers, ...env },
  });
  const printed = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      printed[name] += text;
    });
  }
  // It may end without reading everything.
  child.stdin.on("error", () => undefined).end(input);
  const ended = once(child, "close").then(async ([code, signal]) => {
    const lines = existsSync(answers) ? readFileSync(answers, "utf8").split("\n").filter(Boolean) : [];
    rmSync(dir, { recursive: true });
    for (const line of lines) await assertFetched(JSON.parse(line) as Fetched);
    return { code: signal ?? code, ...printed } as CliOutcome;
  });
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
