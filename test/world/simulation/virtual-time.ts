import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import os from "node:os";
import timers from "node:timers/promises";

/** Something with timers and sockets of its own: when it is paused or dead, none of them fires. */
export interface Process {
  readonly name: string;
  readonly pid: number;
  /** Its events wait until then, virtual ms. */
  pausedUntil: number;
  isDead: boolean;
}

/** What the clock reads when a simulation begins, ms since 1970. */
const EPOCH_MS = Date.UTC(2030, 0, 1);
/** More turns than this while no time passes count as an endless loop. */
const MAX_TURNS_AT_ONCE = 1_000_000;

const turn = setImmediate;
const RealDate = Date;

/** An event that is due at a time; also what `setTimeout` and `setImmediate` return. */
class Timer {
  readonly process: Process;
  readonly everyMs: number | undefined;
  /** Undefined once it has fired or was cleared. */
  run: (() => void) | undefined;
  /** When it fires. */
  at = 0;
  /** When it was due: its process may be paused since. */
  dueAt = 0;
  /** Of two that were due at the same time, the lower one is first. */
  nth = 0;

  constructor(process: Process, run: () => void, everyMs?: number) {
    this.process = process;
    this.run = run;
    this.everyMs = everyMs;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }
}

/**
 * The time of a simulation. It replaces all timers, clocks and random numbers of this Node process: time passes only from one timer to the
 * next, and everything happens in the same order for the same seed. Promises and `process.nextTick` are not replaced: all of them run
 * between two timers.
 */
export class VirtualTime {
  readonly #chance: () => number;
  /** Undefined while nothing of the simulation runs. */
  #process: Process | undefined;
  /** A binary heap. */
  readonly #due: Timer[] = [];
  #nowMs = 0;
  #timers = 0;
  /** How many timers have fired. */
  turns = 0;

  constructor(chance: () => number) {
    this.#chance = chance;
  }

  /** Virtual ms since the beginning. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** The time of all machines whose clocks are right. */
  get clockMs(): number {
    return EPOCH_MS + this.#nowMs;
  }

  /** The process whose code is running. */
  get process(): Process {
    if (!this.#process) throw new Error("this runs in no process of the simulation");
    return this.#process;
  }

  /** Before the simulation begins: says whose code runs from now on. */
  enter(process: Process): void {
    this.#process = process;
  }

  /** Runs something in another process. Its end is an event of the process that asked for it, which never comes if the other one dies. */
  in<T>(process: Process, work: () => Promise<T>): Promise<T> {
    const asking = this.process;
    return new Promise((resolve, reject) => {
      const end = (run: () => void) => this.plan(asking, 0, run);
      this.plan(process, 0, () => {
        work().then(
          (value) => end(() => resolve(value)),
          (error: unknown) => end(() => reject(error)),
        );
      });
    });
  }

  /** Schedules something in a process after a delay. */
  plan(process: Process, delayMs: number, run: () => void, everyMs?: number): Timer {
    return this.planAt(process, this.#nowMs + delayMs, run, everyMs);
  }

  /** Schedules it at a time, virtual ms. */
  planAt(process: Process, at: number, run: () => void, everyMs?: number): Timer {
    const timer = new Timer(process, run, everyMs);
    this.#add(timer, at);
    return timer;
  }

  /** Lets the events of a process wait for a while. Never less than before: what waits already would be overtaken. */
  pause(process: Process, forMs: number): void {
    process.pausedUntil = Math.max(process.pausedUntil, this.#nowMs + forMs);
  }

  /** Lets time pass until something is done. @throws Error if nothing is due any more, or it is not done in time */
  async until(done: Promise<unknown>, limitMs: number): Promise<void> {
    let isDone = false;
    let failure: { readonly error: unknown } | undefined;
    const end = () => {
      isDone = true;
    };
    done.then(end, (error: unknown) => {
      failure = { error };
    });
    const lastMs = this.#nowMs + limitMs;
    for (let at = this.#nowMs, sinceMs = 0; ; sinceMs = at === this.#nowMs ? sinceMs + 1 : 0, at = this.#nowMs) {
      await new Promise<void>((resolve) => turn(resolve));
      this.#process = undefined;
      if (failure) throw failure.error;
      if (isDone) return;
      if (sinceMs > MAX_TURNS_AT_ONCE) throw new Error("an endless loop without a pause");
      const next = this.#next();
      if (!next) throw new Error("nothing is due any more");
      if (next.at > lastMs) throw new Error(`not done within ${limitMs / 1000} s`);
      this.#nowMs = next.at;
      this.#fire(next);
    }
  }

  /** Promises that this resolves continue in the same process: those of other processes are only resolved by events of their own. */
  #fire(timer: Timer): void {
    const { process, run, everyMs } = timer;
    this.turns += 1;
    if (everyMs === undefined) timer.run = undefined;
    this.#process = process;
    run?.();
    if (everyMs !== undefined && timer.run) this.#add(timer, this.#nowMs + everyMs);
  }

  /** The next event that happens; that of a paused process comes later, in the order in which it would have come. */
  #next(): Timer | undefined {
    for (let next = this.#take(); next; next = this.#take()) {
      const { run, process } = next;
      if (!run || process.isDead) continue;
      if (process.pausedUntil <= next.at) return next;
      next.at = process.pausedUntil;
      this.#queue(next);
    }
    return undefined;
  }

  #add(timer: Timer, at: number): void {
    timer.at = at;
    timer.dueAt = at;
    timer.nth = this.#timers += 1;
    this.#queue(timer);
  }

  #queue(timer: Timer): void {
    const due = this.#due;
    let place = due.length;
    while (place > 0) {
      const parent = due[(place - 1) >> 1] as Timer;
      if (isBefore(parent, timer)) break;
      due[place] = parent;
      place = (place - 1) >> 1;
    }
    due[place] = timer;
  }

  #take(): Timer | undefined {
    const due = this.#due;
    const [first] = due;
    const last = due.pop();
    if (!first || !last || first === last) return first;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      if (child + 1 < due.length && isBefore(due[child + 1] as Timer, due[child] as Timer)) child += 1;
      if (child >= due.length || isBefore(last, due[child] as Timer)) break;
      due[place] = due[child] as Timer;
      place = child;
    }
    due[place] = last;
    return first;
  }

  /** Replaces the timers, clocks and random numbers of Node, for good. */
  install(): void {
    const time = this;
    // As Node does.
    const msOf = (ms: unknown) => Math.max(1, Math.trunc(Number(ms)) || 1);
    const clear = (timer?: unknown) => {
      if (timer instanceof Timer) timer.run = undefined;
    };
    const later = <T>(delayMs: number, value: T, { signal }: { signal?: AbortSignal | undefined } = {}) =>
      new Promise<T>((resolve, reject) => {
        const abort = () => {
          clear(timer);
          reject(signal?.reason);
        };
        const timer = time.plan(time.process, delayMs, () => {
          signal?.removeEventListener("abort", abort);
          resolve(value);
        });
        if (signal?.aborted) abort();
        else signal?.addEventListener("abort", abort, { once: true });
      });
    const bytes = (length: number) => Buffer.from(Array.from({ length }, () => Math.floor(time.#chance() * 256)));
    Object.assign(globalThis, {
      setTimeout: (run: (...args: unknown[]) => void, ms: unknown, ...args: unknown[]) =>
        time.plan(time.process, msOf(ms), () => run(...args)),
      setInterval: (run: (...args: unknown[]) => void, ms: unknown, ...args: unknown[]) =>
        time.plan(time.process, msOf(ms), () => run(...args), msOf(ms)),
      setImmediate: (run: (...args: unknown[]) => void, ...args: unknown[]) =>
        time.plan(time.process, 0, () => run(...args)),
      clearTimeout: clear,
      clearInterval: clear,
      clearImmediate: clear,
      Date: class extends RealDate {
        constructor(...args: [] | [string]) {
          super(...(args.length === 0 ? ([time.clockMs] as unknown as [string]) : args));
        }

        static override now(): number {
          return Math.floor(time.clockMs);
        }
      },
    });
    Object.assign(timers, {
      setTimeout: (ms: unknown, value: unknown, options?: object) => later(msOf(ms), value, options),
      setImmediate: (value: unknown, options?: object) => later(0, value, options),
    });
    performance.now = () => time.#nowMs;
    Object.defineProperty(performance, "timeOrigin", { value: EPOCH_MS, configurable: true });
    // Names of workers contain them.
    Object.defineProperty(process, "pid", { get: () => time.#process?.pid, configurable: true });
    os.hostname = () => "simulated";
    // Failed attempts are stored with their stacks. What a stack tells of Node's own loop and of the checkout's path changes its length, which
    // moves the memory of the store, in which the order of subscribers goes by their addresses.
    Error.stackTraceLimit = 0;
    Math.random = this.#chance;
    Object.assign(crypto, { randomBytes: bytes, randomUUID: () => uuidOf(bytes(16).toString("hex")) });
    syncBuiltinESMExports();
  }
}

const isBefore = (one: Timer, other: Timer): boolean =>
  (one.at - other.at || one.dueAt - other.dueAt || one.nth - other.nth) < 0;

const uuidOf = (hex: string): string => hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
