/** For how long at most nothing begins while a suspect waits for the whole process, ms; and for how long others may begin after that. */
const HOLD_MS = 1000;
const OPEN_MS = 4000;

/**
 * How many handlers run in this process and its child processes, over all queues. Suspects may claim the whole process: then no other
 * handler begins until they have ended, so that no other task is lost if one of them kills the process.
 */
export class Occupancy {
  readonly #onEmpty: () => void;
  readonly #onRelease: (() => void)[] = [];
  #running = 0;
  /** How many of them are suspects that have claimed the process. */
  #claims = 0;
  /** Whether nothing begins, because a suspect waits until no other handler runs. */
  #held = false;
  /** The end of the hold, then of the time until another one. */
  #timer: NodeJS.Timeout | undefined;

  /** @param onEmpty called when no handler runs any more */
  constructor(onEmpty: () => void) {
    this.#onEmpty = onEmpty;
  }

  /** Whether suspects have the whole process. */
  get claimed(): boolean {
    return this.#claims > 0;
  }

  /** Whether suspects have the whole process, or wait for it. */
  get closed(): boolean {
    return this.claimed || this.#held;
  }

  begin(): void {
    this.#running += 1;
  }

  end(): void {
    this.#running -= 1;
    if (this.#running === 0) this.#onEmpty();
  }

  /**
   * Claims the whole process for a suspect that begins now; false while another handler runs in it. Then no other begins for a while, since
   * new ones could follow each other forever.
   */
  claim(): boolean {
    if (this.#running > this.#claims) {
      this.#hold();
      return false;
    }
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#held = false;
    this.#claims += 1;
    return true;
  }

  release(): void {
    this.#claims -= 1;
    if (!this.closed) this.#announce();
  }

  /** Calls back whenever others may begin again. */
  onRelease(listener: () => void): void {
    this.#onRelease.push(listener);
  }

  #hold(): void {
    if (this.#timer !== undefined) return;
    this.#held = true;
    this.#timer = setTimeout(() => {
      this.#held = false;
      this.#timer = setTimeout(() => {
        this.#timer = undefined;
      }, OPEN_MS).unref();
      this.#announce();
    }, HOLD_MS).unref();
  }

  #announce(): void {
    for (const listener of this.#onRelease) listener();
  }
}
