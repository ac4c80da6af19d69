import { messageOf } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import type { Attempt } from "../attempt.ts";
import { openChild } from "./child-port.ts";
import type { Executor } from "./executor.ts";
import type { Outcome } from "./outcome.ts";
import { Cell } from "./sandbox.ts";

/** Most child processes at once; further suspects wait for one of them. */
const MOST_CHILDREN = 8;
/** Most that start at once: each takes a CPU, and the first to be ready serves many suspects. */
const MOST_STARTING = 2;
/** Most suspects that wait for a child in one process: others may take the rest sooner, and have it when this one dies. */
const MOST_WAITING = 8;
/** How long children stay when no suspect has needed one, ms. */
const IDLE_MS = 60_000;
/** Pause before a suspect tries again for which no process could be started, ms. */
const BROKEN_MS = 5000;

/** A suspect that waits. */
interface Waiting {
  readonly attempt: Attempt;
  done(cell: Cell | Outcome): void;
}

/**
 * Runs suspects, tasks that have lost a worker before, in child processes, one at a time in each: if one of them kills its process
 * again, it is known that it was this one, and nothing else dies with it. Children are used again by one suspect after another. One
 * that would be dead after another loss has a child that nobody has used before it: what others left behind cannot condemn it.
 */
export class Children implements Executor {
  readonly #options: { readonly handlersDir: string; readonly maxResultBytes: number; readonly log: Logger };
  readonly #idle: Cell[] = [];
  readonly #all = new Set<Cell>();
  readonly #waiting: Waiting[] = [];
  #starting = 0;
  #stopped = false;
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(options: { handlersDir: string; maxResultBytes: number; log: Logger }) {
    this.#options = options;
  }

  /** Whether one more suspect may wait here. */
  get admits(): boolean {
    return this.#waiting.length < MOST_WAITING;
  }

  async execute(attempt: Attempt): Promise<Outcome> {
    const cell = await this.#turn(attempt);
    if (!(cell instanceof Cell)) return cell;
    try {
      await attempt.report();
      if (attempt.aborted !== undefined) return { kind: "overdue" };
      // It died before the handler has begun: not of that.
      if (!cell.alive) return { kind: "later", afterMs: 0 };
      return await cell.run(attempt);
    } catch (error) {
      attempt.log.warn({ reason: messageOf(error) }, "the handler has not begun: the task is tried again later");
      return { kind: "later", afterMs: BROKEN_MS };
    } finally {
      this.#giveBack(cell);
    }
  }

  /** Whether suspects wait, for a child or for a slot. */
  get waited(): boolean {
    return this.#waiting.length > 0;
  }

  /** A slot of some queue has become free: a suspect may be waiting for it. */
  slotFreed(): void {
    if (this.waited) this.#assign();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#idleTimer);
    await Promise.all([...this.#all].map((cell) => cell.kill()));
  }

  /** Waits for a child and a slot, which are taken together: neither is kept from others meanwhile. */
  #turn(attempt: Attempt): Promise<Cell | Outcome> {
    return new Promise((resolve) => {
      const waiting: Waiting = { attempt, done: resolve };
      this.#waiting.push(waiting);
      // Nothing has begun: there is nothing to wait for.
      attempt.whenAborted(() => {
        const at = this.#waiting.indexOf(waiting);
        if (at >= 0) this.#waiting.splice(at, 1);
        resolve({ kind: "overdue" });
      });
      // Only when all that came with it has its slot.
      queueMicrotask(() => this.#assign());
    });
  }

  /** Gives children that are ready to those who wait, the first first, and starts as many as are missing. */
  #assign(): void {
    for (const cell of [...this.#idle]) if (!cell.alive) this.#end(cell);
    for (const waiting of [...this.#waiting]) {
      const cell = this.#ready(waiting.attempt);
      if (cell === undefined || waiting.attempt.claimSlot?.() === false) continue;
      this.#idle.splice(this.#idle.indexOf(cell), 1);
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      waiting.done(cell);
    }
    this.#grow();
  }

  #ready({ task, settings }: Attempt): Cell | undefined {
    const last = task.lost >= settings.maxLost;
    return this.#idle.find((cell) => cell.unused || !last);
  }

  #grow(): void {
    const missing = this.#waiting.filter(({ attempt }) => this.#ready(attempt) === undefined).length;
    while (!this.#stopped && this.#starting < Math.min(MOST_STARTING, missing)) {
      if (this.#all.size >= MOST_CHILDREN) {
        // One that has been used makes room for a new one; where all are busy, the next to be free is waited for.
        const used = this.#idle.find((cell) => !cell.unused);
        if (used === undefined) return;
        this.#end(used);
      }
      void this.#start();
    }
  }

  async #start(): Promise<void> {
    this.#starting += 1;
    let cell: Cell | undefined;
    try {
      cell = new Cell(openChild(), this.#options);
      this.#all.add(cell);
      await cell.ready;
      this.#idle.push(cell);
    } catch (error) {
      if (cell) this.#end(cell);
      if (!this.#stopped) {
        this.#options.log.error({ reason: messageOf(error) }, "no process for a suspect could be started");
        // Not the task's fault, and not counted against it.
        this.#waiting.shift()?.done({ kind: "later", afterMs: BROKEN_MS });
      }
    } finally {
      this.#starting -= 1;
      this.#assign();
      this.#keepIdle();
    }
  }

  #giveBack(cell: Cell): void {
    if (cell.alive && !this.#stopped) this.#idle.push(cell);
    else this.#end(cell);
    this.#assign();
    this.#keepIdle();
  }

  #end(cell: Cell): void {
    this.#all.delete(cell);
    const at = this.#idle.indexOf(cell);
    if (at >= 0) this.#idle.splice(at, 1);
    void cell.kill();
  }

  #keepIdle(): void {
    clearTimeout(this.#idleTimer);
    if (this.#stopped) return;
    this.#idleTimer = setTimeout(() => {
      for (const cell of [...this.#idle]) this.#end(cell);
    }, IDLE_MS).unref();
  }
}
