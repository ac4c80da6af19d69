import type { HandlerEnd } from "../../engine/tasks/attempt-end.ts";
import { messageOf } from "../../errors.ts";
import type { Handler } from "../../handler/define.ts";
import type { Attempt } from "../attempt/attempt.ts";
import { openChild } from "./child-port.ts";
import type { Executor } from "./executor.ts";
import { errorRecord } from "./handler-end.ts";
import { Sandbox, type SandboxOptions } from "./sandbox.ts";

/** Maximum number of suspects that run in child processes of one worker, or wait for one of them in their slots. */
const MAX_SUSPECTS = 8;
/** How long children are kept that no task needs, ms. */
const IDLE_MS = 60_000;

/** The options of {@link Children}. */
interface ChildrenOptions extends SandboxOptions {
  /** The limit of their heaps, MB; undefined: that of Node.js. */
  readonly memoryMb?: number;
  /** Runs a task for which no child could be started; if left out, its attempt fails. */
  readonly inWorker?: Executor;
  /** How long children are kept that no task needs, ms. Default: a minute. */
  readonly idleMs?: number;
}

/** Gets a child, or undefined if none could be started. */
type Waiting = (child: Sandbox | undefined) => void;

/**
 * Runs handlers in child processes, one at a time in each: a task that kills its process is known by that, and takes no other with it; and one
 * that uses the CPU blocks nothing else. Children are started on demand, one after the other, and used again; only a task that would be dead
 * after another loss gets an unused child, so that leftovers of others cannot cause that loss.
 *
 * Most of a start is that of Node and this package. Where tasks are expected, one child does that ahead, the spare, and loads the handlers when
 * a task needs it (`npm run bench -- recovery`).
 */
export class Children implements Executor {
  readonly #options: ChildrenOptions;
  readonly #idle: Sandbox[] = [];
  /** A child that has not loaded the handlers. */
  #spare: Sandbox | undefined;
  readonly #all = new Set<Sandbox>();
  readonly #waiting = new Map<Attempt, Waiting>();
  /** How many attempts run here, or wait for a child. */
  #attempts = 0;
  #starting = false;
  /** Why the last start of a child failed. */
  #failure: unknown;
  #stopped = false;
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(options: ChildrenOptions) {
    this.#options = options;
  }

  /** Whether another suspect may come: they have slots while they wait, which other tasks need too. */
  get admitsSuspect(): boolean {
    return this.#attempts < MAX_SUSPECTS;
  }

  async execute(attempt: Attempt, handler: Handler): Promise<HandlerEnd> {
    this.#attempts += 1;
    let child: Sandbox | undefined;
    try {
      child = await this.#take(attempt);
      const stopped = await attempt.report(child !== undefined);
      if (stopped) return stopped;
      if (child === undefined) return await this.#withoutChild(attempt, handler);
      // If it died before the handler began, that was not the cause.
      return child.alive ? await child.run(attempt) : { kind: "later", afterMs: 0 };
    } finally {
      this.#attempts -= 1;
      if (child !== undefined) this.#giveBack(child);
    }
  }

  /** Tasks will probably come soon: if no child is idle or starts, one is prepared for them. */
  expect(): void {
    this.#removeDead();
    this.#keepIdle();
    if (this.#stopped || this.#starting || this.#free().length > 0) return;
    this.#spare = this.#open();
    this.#spare.warm();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#idleTimer);
    await Promise.all([...this.#all].map((child) => child.kill()));
  }

  async #withoutChild(attempt: Attempt, handler: Handler): Promise<HandlerEnd> {
    const { inWorker } = this.#options;
    const reason = `no child process could be started: ${messageOf(this.#failure)}`;
    if (inWorker === undefined) return { kind: "error", error: errorRecord(new Error(reason)) };
    attempt.log.warn({ reason }, "sandbox: the task has lost a worker, and runs in this one all the same");
    return inWorker.execute(attempt, handler);
  }

  /** Waits for a child; undefined if none could be started, or if the signal fires before. */
  #take(attempt: Attempt): Promise<Sandbox | undefined> {
    return new Promise((resolve) => {
      this.#waiting.set(attempt, resolve);
      attempt.whenAborted(() => this.#answer(attempt, undefined));
      this.#assign();
    });
  }

  #answer(attempt: Attempt, child: Sandbox | undefined): void {
    this.#waiting.get(attempt)?.(child);
    this.#waiting.delete(attempt);
  }

  /** Gives idle children to those that wait, and starts another if there are too few. */
  #assign(): void {
    this.#removeDead();
    for (const attempt of this.#waiting.keys()) {
      const last = attempt.task.lost >= attempt.settings.maxLost;
      const at = this.#idle.findIndex((child) => child.unused || !last);
      if (at >= 0) this.#answer(attempt, this.#idle.splice(at, 1)[0]);
    }
    if (this.#waiting.size > 0 && !this.#starting && !this.#stopped) void this.#start();
  }

  /** Those that no task has now. */
  #free(): Sandbox[] {
    return this.#spare === undefined ? [...this.#idle] : [...this.#idle, this.#spare];
  }

  #removeDead(): void {
    for (const child of this.#free()) if (!child.alive) this.#end(child);
  }

  #open(): Sandbox {
    const child = new Sandbox(openChild(this.#options.memoryMb), this.#options);
    this.#all.add(child);
    return child;
  }

  async #start(): Promise<void> {
    const { log } = this.#options;
    this.#starting = true;
    // Used ones that are still idle are not wanted by those that wait.
    for (const used of [...this.#idle]) this.#end(used);
    const spare = this.#spare;
    this.#spare = undefined;
    const child = spare ?? this.#open();
    try {
      await child.load();
      this.#idle.push(child);
    } catch (error) {
      this.#end(child);
      // A spare may have been about to die; the task gets another child.
      if (child !== spare) {
        this.#failure = error;
        const [first] = this.#waiting.keys();
        if (!this.#stopped) log.error({ reason: messageOf(error) }, "sandbox: could not start a child process");
        if (first !== undefined) this.#answer(first, undefined);
      }
    } finally {
      this.#starting = false;
      this.#keepIdle();
      this.#assign();
    }
  }

  #giveBack(child: Sandbox): void {
    if (child.alive && !this.#stopped) this.#idle.push(child);
    else this.#end(child);
    this.#keepIdle();
    this.#assign();
  }

  #end(child: Sandbox): void {
    this.#all.delete(child);
    if (this.#spare === child) this.#spare = undefined;
    const at = this.#idle.indexOf(child);
    if (at >= 0) this.#idle.splice(at, 1);
    void child.kill();
  }

  /** Keeps children from now on for the usual time. */
  #keepIdle(): void {
    clearTimeout(this.#idleTimer);
    if (this.#stopped) return;
    this.#idleTimer = setTimeout(() => {
      for (const child of this.#free()) this.#end(child);
    }, this.#options.idleMs ?? IDLE_MS).unref();
  }
}
