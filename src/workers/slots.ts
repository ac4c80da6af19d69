import type { HandlerEnd } from "../engine/tasks/attempt-end.ts";
import type { Logger } from "../log.ts";
import type { Attempt } from "./attempt/attempt.ts";

/** Where an attempt runs: a slot of its own, or one that it shares with others. */
export interface Slot {
  /** Since when its time counts as service time, monotonic ms; undefined: since the task was taken. */
  readonly since?: number | undefined;
  /** Runs the handler for this attempt and others; if left out, the attempt has a call of its own. */
  execute?(attempt: Attempt): Promise<HandlerEnd>;
  /** The handler has ended, or could not begin; with a promise of its end if it is abandoned. */
  ended(goingOn?: Promise<unknown>): void;
  /** That is stored, or need not be. */
  stored(): void;
}

/** The options of {@link Slots}. */
export interface SlotsOptions {
  readonly count: number;
  /** Maximum number of tasks in a slot. */
  readonly perSlot: number;
  readonly log: Logger;
  /** For how many tasks there is room, in addition to those for free slots; default none. */
  readonly more?: (() => number) | undefined;
  /** How many tasks may be taken before there are slots for them; default none. */
  readonly ahead?: (() => number) | undefined;
  /** Called when a handler has ended: how long its slot was taken, ms. */
  onFreed(tookMs: number): void;
  /** Called when more tasks can be requested. */
  onRoom(): void;
}

/** The slots of one queue in one worker process: how many are taken, and how many tasks can be requested for the others. */
export class Slots {
  readonly #options: SlotsOptions;
  #count: number;
  /** Running handlers. */
  #busy = 0;
  /** Abandoned handlers, which continue after their signal. */
  #overdue = 0;
  /** Handlers that run, or whose ends are being stored. */
  #inHand = 0;
  /** When slots were freed, the earliest first. */
  readonly #freedAt: number[] = [];
  /** Tasks that were requested, or that wait for a slot. */
  #claimed = 0;

  constructor(options: SlotsOptions) {
    this.#options = options;
    this.#count = options.count;
  }

  /** How many handlers run at once. */
  get count(): number {
    return this.#count;
  }

  /** Where there are fewer than handlers run, no slot is free until as many have ended. */
  set count(count: number) {
    this.#count = count;
    this.#options.onRoom();
  }

  /**
   * How many more tasks can be requested. A slot is free as soon as its handler has ended; but while ends cannot be stored, at most as many additional tasks are requested.
   */
  get free(): number {
    const { perSlot, more } = this.#options;
    return Math.max(0, this.#open(this.#ahead) * perSlot + (more?.() ?? 0) - this.#claimed);
  }

  /** How many slots have no task at all, and are not needed for requested ones. */
  get idle(): number {
    const { perSlot } = this.#options;
    return Math.floor(Math.max(0, this.#open() * perSlot - this.#claimed) / perSlot);
  }

  get #ahead(): number {
    return this.#options.ahead?.() ?? 0;
  }

  /** How many slots have no handler, if there were so many more of them. */
  #open(more = 0): number {
    const count = this.#count;
    const kept = Math.max(0, this.#overdue - count);
    return Math.max(0, Math.min(count + more - this.#busy - kept, 2 * (count + this.#ahead) - this.#inHand));
  }

  /** Claims room for requested tasks. */
  claim(tasks: number): void {
    this.#claimed += tasks;
  }

  /** Releases what was claimed. */
  release(tasks: number): void {
    this.#claimed -= tasks;
  }

  /** Takes a slot if one is free; see {@link take}. */
  takeIfFree(requestedAt?: number): Slot | undefined {
    return this.#open() > 0 ? this.take(requestedAt) : undefined;
  }

  /**
   * Takes a slot, which must be free: the one that has been free for longest.
   * @param requestedAt when its task was requested, monotonic ms
   */
  take(requestedAt = 0): Slot {
    const freeSince = this.#freeSince();
    const since = this.#ahead > 0 ? Math.max(requestedAt, freeSince) : undefined;
    this.#busy += 1;
    this.#inHand += 1;
    const takenAt = performance.now();
    let freed = false;
    return {
      since,
      ended: (goingOn) => {
        if (!freed) this.#freed(performance.now() - takenAt, goingOn);
        freed = true;
      },
      stored: () => this.#stored(),
    };
  }

  /** Since when the slot has been free that is taken next, monotonic ms; 0 for one that had no task. */
  #freeSince(): number {
    const free = this.#count - this.#busy;
    while (this.#freedAt.length > free) this.#freedAt.shift();
    return this.#freedAt.length < free ? 0 : (this.#freedAt.shift() ?? 0);
  }

  #freed(tookMs: number, goingOn: Promise<unknown> | undefined): void {
    this.#busy -= 1;
    this.#freedAt.push(performance.now());
    if (goingOn !== undefined) this.#leave(goingOn);
    this.#options.onFreed(tookMs);
  }

  /** A handler ignores its signal. As many of these as there are slots may continue without one; further ones keep theirs. */
  #leave(goingOn: Promise<unknown>): void {
    const { log, onRoom } = this.#options;
    this.#overdue += 1;
    if (this.#overdue > this.#count) {
      const counts = { overdue: this.#overdue, slots: this.#count };
      log.error(
        counts,
        "pool: too many handlers continue after their signal; a slot stays taken until one of them ends",
      );
    }
    void goingOn.then(() => {
      this.#overdue -= 1;
      onRoom();
    });
  }

  #stored(): void {
    const { free } = this;
    const open = this.#open();
    this.#inHand -= 1;
    if (free < this.free || open < this.#open()) this.#options.onRoom();
  }
}
