import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { ROOT } from "../../shared/root.ts";

/** A request to the process of the tests: run some, or run all and record which statements of Lua they reach. */
export interface Request {
  /** The texts that replace modules of the library. */
  readonly sources: readonly (readonly [original: string, text: string])[];
  /** The tests, and how long each usually takes, ms. */
  readonly tests: Readonly<Record<string, number>>;
  readonly record?: true;
}

/** What each test reaches, by numbers of statements, and how long it takes. */
export type Reaches = Readonly<Record<string, { readonly ms: number; readonly statements: readonly number[] }>>;

export interface Answer {
  /** The tests that failed; only the first, unless the run is recorded. */
  readonly failed?: readonly string[];
  readonly error?: string;
  readonly reaches?: Reaches;
  /** There is no such test. */
  readonly missing?: true;
  /** Why the tests could not be run. */
  readonly broken?: string;
}

/** Tests that are loaded once and run again and again, in a process with a Redis of its own. */
export class Tests {
  readonly #files: readonly string[];
  #child: ChildProcess | undefined;
  #redisPid: number | undefined;

  constructor(files: readonly string[]) {
    this.#files = files;
  }

  /** Sends one request at a time. If there is no answer in time, ends the process and returns undefined. */
  async ask(request: Request, limitMs: number): Promise<Answer | undefined> {
    const child = this.#child ?? (await this.#start());
    child.send(request);
    const timer = setTimeout(() => this.stop(), limitMs);
    const answer = await next(child);
    clearTimeout(timer);
    if (!answer) this.stop();
    if (answer?.broken === undefined) return answer;
    if (!answer.broken.includes("BUSY")) throw new Error(answer.broken);
    // The script of an earlier request has not ended.
    this.stop();
    return await this.ask(request, limitMs);
  }

  /** Ends the process and its Redis. The next request starts others. */
  stop(): void {
    this.#child?.kill("SIGKILL");
    this.#child = undefined;
    if (this.#redisPid !== undefined) kill(this.#redisPid);
    this.#redisPid = undefined;
  }

  async #start(): Promise<ChildProcess> {
    const child = fork(join(ROOT, "test/mutants/lua/tests-process.ts"), this.#files, {
      cwd: ROOT,
      execArgv: ["--import", "tsx"],
      env: { ...process.env, NODE_ENV: "test" },
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    this.#child = child;
    const ready = (await next(child)) as { pid: number } | undefined;
    if (!ready) throw new Error("the tests could not be loaded");
    this.#redisPid = ready.pid;
    return child;
  }
}

/** Its next message; undefined if it ends before. */
async function next(child: ChildProcess): Promise<Answer | undefined> {
  const gone = new AbortController();
  const onExit = () => gone.abort();
  child.once("exit", onExit);
  try {
    const [answer] = (await once(child, "message", { signal: gone.signal })) as [Answer];
    return answer;
  } catch {
    return undefined;
  } finally {
    child.off("exit", onExit);
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}
