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
        clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        this.#wake = undefined;
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal?.addEventListener("abort", done);
      this.#wake = done;
    });
  }
}
