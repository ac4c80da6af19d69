import type { HandlerEnd } from "../engine/attempt/attempt-end.ts";
import type { Logger } from "../log.ts";
import type { Attempt } from "./attempt/attempt.ts";

/** Where an attempt runs: a slot of its own, or one that it shares with others. */
export interface Slot {
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
  /** Called when a handler has ended. */
  onFreed(): void;
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
  /** Tasks that were requested. */
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
    return this.#room(this.#options.more?.() ?? 0);
  }

  /** How many slots have no task at all, and are not needed for requested ones. */
  get idle(): number {
    return Math.floor(this.#room(0) / this.#options.perSlot);
  }

  /** For how many tasks there is room, with some room in calls that others may join. */
  #room(inCalls: number): number {
    return Math.max(0, this.#empty * this.#options.perSlot + inCalls - this.#claimed);
  }

  get #empty(): number {
    const count = this.#count;
    const kept = Math.max(0, this.#overdue - count);
    return Math.max(0, Math.min(count - this.#busy - kept, 2 * count - this.#inHand));
  }

  /** Claims room for requested tasks. */
  claim(tasks: number): void {
    this.#claimed += tasks;
  }

  /** Releases what was claimed. */
  release(tasks: number): void {
    this.#claimed -= tasks;
  }

  /** Takes a slot if one is free. */
  takeIfFree(): Slot | undefined {
    return this.#empty > 0 ? this.take() : undefined;
  }

  /** Takes a slot, which must be free. */
  take(): Slot {
    this.#busy += 1;
    this.#inHand += 1;
    let freed = false;
    return {
      ended: (goingOn) => {
        if (!freed) this.#freed(goingOn);
        freed = true;
      },
      stored: () => this.#stored(),
    };
  }

  #freed(goingOn: Promise<unknown> | undefined): void {
    this.#busy -= 1;
    if (goingOn !== undefined) this.#leave(goingOn);
    this.#options.onFreed();
  }

  /** A handler ignores its signal. As many of these as there are slots may continue without one; further ones keep theirs. */
  #leave(goingOn: Promise<unknown>): void {
    const { log, onFreed } = this.#options;
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
      onFreed();
    });
  }

  #stored(): void {
    const { free } = this;
    this.#inHand -= 1;
    if (free < this.free) this.#options.onRoom();
  }
}
