import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ROOT } from "../../test/shared/root.ts";

/** Linux counts the time of a process in hundredths of a second. */
const TICKS_PER_SECOND = 100;
const FAREWELL_MS = 15_000;

/** A process under test. */
export interface Subject {
  readonly pid: number;
  /** Seconds of CPU used so far by all of its threads. */
  cpuSeconds(): number;
  stop(): Promise<void>;
}

/** What else a process under test is started with: arguments of Node, and variables of its environment. */
export interface HowToStart {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** A server under test. */
export interface ServerSubject extends Subject {
  readonly port: number;
}

const alive = new Set<ChildProcess>();

/** Ends every process that still runs: a failed benchmark must not leave any. */
export function endAll(): void {
  for (const child of alive) child.kill("SIGKILL");
}

/** Seconds of CPU that a process has used, from /proc. */
export function cpuSecondsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/**
 * Starts `paihao start` of the build on a free port, and waits until it answers; the port is NaN for a worker that does not
 * listen.
 */
export async function startPaihao(
  env: Readonly<Record<string, string>>,
  nodeArgs: readonly string[] = [],
): Promise<ServerSubject> {
  const child = spawn(process.execPath, [...nodeArgs, path.join(ROOT, "dist/cli/paihao.js"), "start"], {
    cwd: ROOT,
    env: { ...process.env, PORT: "0", LOG_LEVEL: "warn", HANDLERS: path.join(ROOT, "bench/handlers"), ...env },
    stdio: ["ignore", "inherit", "pipe"],
  });
  const said: string[] = [];
  const port = new Promise<number>((resolve, reject) => {
    child.stderr.on("data", (chunk: Buffer) => {
      said.push(chunk.toString());
      const match = /is ready on http:\S+?:(\d+)$|worker is ready/m.exec(said.join(""));
      if (match) resolve(Number(match[1]));
    });
    child.once("exit", () => reject(new Error(`paihao ended at once: ${said.join("")}`)));
  });
  return { ...track(child), port: await port };
}

/** Starts a file of bench/subjects that serves HTTP and reports its port. */
export async function startServerSubject(name: string, args: readonly string[] = []): Promise<ServerSubject> {
  const child = forkSubject(name, args);
  const [port] = (await once(child, "message")) as [number];
  return { ...track(child), port };
}

/** Starts a file of bench/subjects that answers calls, see rpc.ts. */
export function forkSubject(name: string, args: readonly string[] = [], how: HowToStart = {}): ChildProcess {
  const { args: nodeArgs = [], env = {} } = how;
  const execArgv = ["--import", "tsx", ...nodeArgs];
  return fork(path.join(ROOT, `bench/subjects/${name}.ts`), args, { execArgv, env: { ...process.env, ...env } });
}

/** What every process under test can do. */
export function track(child: ChildProcess): Subject {
  const { pid } = child;
  if (pid === undefined) throw new Error("the process did not start");
  alive.add(child);
  const gone = once(child, "exit").then(() => alive.delete(child));
  return {
    pid,
    cpuSeconds: () => cpuSecondsOf(pid),
    async stop() {
      child.kill("SIGTERM");
      const late = delay(FAREWELL_MS, undefined, { ref: false }).then(() => child.kill("SIGKILL"));
      await Promise.race([gone, late]);
      await gone;
    },
  };
}
