import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { ROOT } from "../shared/root.ts";
import { builtCommand } from "./build.ts";
import { storeUrl } from "./store/run-store.ts";

/** How many log lines are kept to explain a failed test. */
const LOGGED_LINES = 500;

/** A server in a process of its own. */
export interface ServerProcess {
  readonly child: ChildProcess;
  readonly pid: number;
  /** Where it listens; "" if it does not. */
  readonly url: string;
  /** The lines that it has printed for people. */
  readonly said: readonly string[];
  /** The last lines of its log. */
  readonly logged: readonly string[];
  /** Resolves when it has ended, with its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
}

const alive = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of alive) child.kill("SIGKILL");
});

/**
 * Starts `paihao start` with these variables, and waits until it is ready.
 * @param command the arguments of Node that run the command `paihao`
 * @param onLine is told each line of its log
 */
export async function startProcess(
  env: Readonly<Record<string, string>>,
  command: readonly string[] = builtCommand(),
  onLine?: (line: string) => void,
): Promise<ServerProcess> {
  const child = spawn(process.execPath, [...command, "start"], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, LOG_LEVEL: "warn", ...env, REDIS_URL: env.REDIS_URL ?? storeUrl() },
    stdio: ["ignore", "pipe", "pipe"],
  });
  alive.add(child);
  const ended = new Promise<number | NodeJS.Signals>((resolve) => {
    child.once("exit", (code, signal) => {
      alive.delete(child);
      resolve(signal ?? code ?? 0);
    });
  });
  const logged: string[] = [];
  if (child.stdout) {
    createInterface({ input: child.stdout }).on("line", (line) => {
      onLine?.(line);
      logged.push(line);
      if (logged.length > 2 * LOGGED_LINES) logged.splice(0, LOGGED_LINES);
    });
  }
  const said: string[] = [];
  const ready = new Promise<string>((resolve) => {
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      said.push(...text.split("\n").filter((line) => line !== ""));
      const line = said.find((words) => / is ready/.test(words));
      if (line !== undefined) resolve(/https?:\S+/.exec(line)?.[0] ?? "");
    });
  });
  const url = await Promise.race([ready, ended]);
  if (typeof url === "number" || !alive.has(child))
    throw new Error(`the server has ended (${url}): ${said.join("; ")}`);
  return { child, pid: child.pid ?? Number.NaN, url, said, logged, ended };
}

/** Ends what a test has started. */
export async function endProcesses(processes: readonly ServerProcess[]): Promise<void> {
  for (const { child } of processes) {
    if (!alive.has(child)) continue;
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  }
}
