/**
 * A signal that fires when another one does or when a time is up, until it is cleared. `AbortSignal.any` with `AbortSignal.timeout`
 * would be shorter, but in Node 20 such a signal can be collected before it fires.
 */
export class Deadline {
  readonly #stop = new AbortController();
  readonly #parent: AbortSignal;
  readonly #timer: NodeJS.Timeout;
  readonly #onAbort = () => this.#stop.abort(this.#parent.reason);
  /** Whether the time was up. */
  passed = false;

  /** @param late the signal's reason once the time is up */
  constructor(parent: AbortSignal, ms: number, late: () => unknown) {
    this.#parent = parent;
    parent.addEventListener("abort", this.#onAbort, { once: true });
    if (parent.aborted) this.#onAbort();
    this.#timer = setTimeout(() => {
      this.passed = true;
      this.#stop.abort(late());
    }, ms);
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Lets go of the timer and of the other signal; idempotent. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#parent.removeEventListener("abort", this.#onAbort);
  }
}

/**
 * Does work that ends when a signal fires or the time is up.
 * @throws the reason of whichever fired, else what the work throws
 */
export async function withDeadline<T>(
  { signal, ms, late }: { signal: AbortSignal; ms: number; late: () => Error },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const deadline = new Deadline(signal, ms, late);
  try {
    return await work(deadline.signal);
  } catch (error) {
    // Whatever broke when the signal fired is only its consequence.
    if (deadline.signal.aborted) throw deadline.signal.reason;
    throw error;
  } finally {
    deadline.clear();
  }
}
