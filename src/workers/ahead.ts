import type { ReservedTask } from "../store/line/reserve.ts";
import type { Slot, Slots } from "./slots.ts";

/** A handler that ends within this time is quick, ms: a request for its next task would take about as long. */
const QUICK_MS = 1;
/** Tasks are taken ahead once so many handlers in a row were quick. */
const QUICK_IN_A_ROW = 16;
/** How many tasks are taken ahead at least; with more slots, as many as there are slots. */
const LEAST = 16;
/** How long a task waits for its slot at most, ms. */
const WAIT_MS = 5;

/** What {@link Ahead} needs. */
export interface AheadParts {
  /** Whether slots alone decide which tasks run: where a rate, a gate or a batch does too, none is taken ahead. */
  readonly allowed: boolean;
  readonly slots: Pick<Slots, "count" | "takeIfFree" | "claim" | "release">;
  run(task: ReservedTask, slot: Slot, takenAt: number): void;
  /** Returns a task to its place in line; resolves when it is there, or that has failed. */
  handBack(task: ReservedTask): Promise<void>;
  /** Called when tasks have been handed back, and others can be requested. */
  onRoom(): void;
}

interface WaitingTask {
  readonly task: ReservedTask;
  readonly takenAt: number;
  readonly since: number;
}

/**
 * Tasks that a worker has taken before there is a slot for them, so that quick handlers need not wait for the store after each task
 * (`npm run bench -- run`, concurrency 1: more than three times BullMQ's rate; about the same without). Only while handlers are quick, so that a task counts as running for a few milliseconds at most before its handler begins; if that turns out to be wrong, it
 * returns to its place in line as if it had not been taken. To tell the store of each begin, so that it knows which one ended its process, was
 * tried: one more command a task halved the gain. So a death counts for none of them, see store/task/lease.lua.
 */
export class Ahead {
  readonly #parts: AheadParts;
  readonly #waiting: WaitingTask[] = [];
  /** How many handlers in a row were quick. */
  #quick = 0;
  #timer: NodeJS.Timeout | undefined;
  #filling = false;

  constructor(parts: AheadParts) {
    this.#parts = parts;
  }

  /** How many tasks may be taken before there are slots for them; 0 unless handlers are quick. */
  get room(): number {
    const { allowed, slots } = this.#parts;
    return !allowed || this.#quick < QUICK_IN_A_ROW || slots.count === 0 ? 0 : Math.max(LEAST, slots.count);
  }

  /** A handler has taken so long, ms. */
  note(tookMs: number): void {
    this.#quick = tookMs < QUICK_MS ? this.#quick + 1 : 0;
  }

  /** Lets a task wait for a slot; false if no task may be taken ahead. */
  add(task: ReservedTask, takenAt: number): boolean {
    if (this.room === 0) return false;
    this.#parts.slots.claim(1);
    this.#waiting.push({ task, takenAt, since: performance.now() });
    this.#timer ??= setTimeout(() => this.#look(), WAIT_MS);
    return true;
  }

  /** Hands a task back that is to stop; false if it does not wait here. */
  drop(id: string): boolean {
    const at = this.#waiting.findIndex(({ task }) => task.id === id);
    const [dropped] = at < 0 ? [] : this.#waiting.splice(at, 1);
    if (dropped) void this.#return([dropped]);
    return dropped !== undefined;
  }

  /** Begins with the tasks for which there are slots now. */
  fill(): void {
    // A handler that ends at once frees its slot while this runs.
    if (this.#filling) return;
    this.#filling = true;
    for (let next = this.#waiting[0]; next; next = this.#waiting[0]) {
      // A handler has blocked this process: others may be free for these tasks.
      if (performance.now() - next.since > WAIT_MS) {
        void this.giveUp();
        break;
      }
      const slot = this.#parts.slots.takeIfFree(next.takenAt);
      if (!slot) break;
      this.#waiting.shift();
      this.#parts.slots.release(1);
      this.#parts.run(next.task, slot, next.takenAt);
    }
    this.#filling = false;
  }

  /**
   * Returns the tasks that wait to their places in line, and takes none ahead until handlers are quick again. Their slots are claimed until they
   * are back, so that no request from now on brings a task from behind them.
   */
  async giveUp(): Promise<void> {
    this.#quick = 0;
    await this.#return(this.#waiting.splice(0));
  }

  async #return(waiting: readonly WaitingTask[]): Promise<void> {
    const { slots, handBack, onRoom } = this.#parts;
    if (waiting.length === 0) return;
    await Promise.all(waiting.map(({ task }) => handBack(task)));
    slots.release(waiting.length);
    onRoom();
  }

  /** Looks whether the task that has waited longest has waited for too long. */
  #look(): void {
    this.#timer = undefined;
    const [first] = this.#waiting;
    if (!first) return;
    const leftMs = first.since + WAIT_MS - performance.now();
    if (leftMs > 0) this.#timer = setTimeout(() => this.#look(), leftMs);
    else void this.giveUp();
  }
}
