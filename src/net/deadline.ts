/** How long work may take. */

/**
 * A signal that fires when another signal fires or the time is up, unless it is cleared before. `AbortSignal.any` with
 * `AbortSignal.timeout` would be shorter, but in Node 20 such a signal can be garbage-collected before it fires.
 */
export class Deadline {
  readonly #stop = new AbortController();
  readonly #parent: AbortSignal;
  readonly #timer: NodeJS.Timeout;
  readonly #onAbort = () => this.#stop.abort(this.#parent.reason);
  /** Whether the time is up. */
  passed = false;

  /** @param late makes the reason of the signal when the time is up */
  constructor(parent: AbortSignal, ms: number, late: () => unknown) {
    this.#parent = parent;
    parent.addEventListener("abort", this.#onAbort);
    if (parent.aborted) this.#onAbort();
    this.#timer = setTimeout(() => {
      this.passed = true;
      this.#stop.abort(late());
    }, ms);
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Releases the timer and the other signal; idempotent. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#parent.removeEventListener("abort", this.#onAbort);
  }
}

/**
 * Runs work that is aborted when a signal fires or the time is up.
 * @throws the reason of the signal if it fired, else what the work throws
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
    // After the signal, any other error is only a consequence of it.
    if (deadline.signal.aborted) throw deadline.signal.reason;
    throw error;
  } finally {
    deadline.clear();
  }
}

/**
 * Waits at most `ms` for some work, which itself continues. The timer does not keep the process alive. An answer that arrived
 * while this process was busy still counts, although it can be read only after the time is up.
 * @param late makes the error for the timeout
 * @throws that error, or what the work throws
 */
export function withTimeout<T>(ms: number, work: Promise<T>, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    // Timers run before sockets are read, immediates after that.
    const timer = setTimeout(() => setImmediate(() => reject(late())), ms).unref();
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
