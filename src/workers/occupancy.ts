/**
 * How many handlers run in this process and its child processes, over all queues. A suspect may claim the whole process: then no other
 * handler begins until it has ended, so that no other task is lost if it kills the process.
 */
export class Occupancy {
  readonly #onEmpty: () => void;
  readonly #onRelease: (() => void)[] = [];
  #running = 0;
  #claimed = false;

  /** @param onEmpty called when no handler runs any more */
  constructor(onEmpty: () => void) {
    this.#onEmpty = onEmpty;
  }

  /** Whether a suspect has the whole process. */
  get claimed(): boolean {
    return this.#claimed;
  }

  begin(): void {
    this.#running += 1;
  }

  end(): void {
    this.#running -= 1;
    if (this.#running === 0) this.#onEmpty();
  }

  /** Claims the whole process; false while a handler runs in it. */
  claim(): boolean {
    if (this.#claimed || this.#running > 0) return false;
    this.#claimed = true;
    return true;
  }

  release(): void {
    this.#claimed = false;
    for (const listener of this.#onRelease) listener();
  }

  /** Calls back whenever others may begin again. */
  onRelease(listener: () => void): void {
    this.#onRelease.push(listener);
  }
}
