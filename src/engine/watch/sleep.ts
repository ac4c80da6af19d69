/** A sleep that can be ended early; one at a time. */
export class Sleep {
  #wake: (() => void) | undefined;

  /** Ends the current sleep, if there is one. */
  wake(): void {
    this.#wake?.();
  }

  /** Resolves after `ms`, at {@link wake}, or when the signal fires. */
  for(ms: number, signal?: AbortSignal): Promise<void> {
    if (ms <= 0 || signal?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        signal?.removeEventListener("abort", done);
        this.wake();
        resolve();
      };
      signal?.addEventListener("abort", done);
      this.begin(ms, done);
    });
  }

  /** The same for a callback. */
  begin(ms: number, over: () => void): void {
    const done = () => {
      clearTimeout(timer);
      this.#wake = undefined;
      over();
    };
    const timer = setTimeout(done, ms);
    this.#wake = done;
  }
}
