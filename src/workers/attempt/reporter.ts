/** Shortest time between two reports of one task, ms. */
const MIN_MS = 100;
/** Longest message kept. */
const MESSAGE_LENGTH = 200;

/** Progress as it is stored: within 0–100, with a message of limited length. */
export interface Progress {
  readonly percent: number;
  readonly message: string;
}

/** @param percent values outside 0–100 are clamped, and anything that is not a number is 0 */
export function progressOf(percent: number, message: string): Progress {
  const within = Number.isFinite(percent) ? Math.round(Math.max(0, Math.min(100, percent)) * 10) / 10 : 0;
  return { percent: within, message: String(message).slice(0, MESSAGE_LENGTH) };
}

/** Sends the progress of one task: one report at a time, at most ten a second, and always the last one. */
export class Reporter {
  readonly #send: (percent: number, message: string) => Promise<unknown> | unknown;
  readonly #onError: (error: unknown) => void;
  #latest: Progress | undefined;
  #sentAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #busy = false;

  /** @param onError called if a report could not be sent; the next one may arrive */
  constructor(
    send: (percent: number, message: string) => Promise<unknown> | unknown,
    onError: (error: unknown) => void = () => undefined,
  ) {
    this.#send = send;
    this.#onError = onError;
  }

  report(percent: number, message: string): void {
    this.#latest = progressOf(percent, message);
    this.#go();
  }

  /** Sends at once if allowed: while a handler uses the CPU no timer fires, but its progress should still be visible. */
  #go(): void {
    if (this.#busy || this.#latest === undefined) return;
    const pauseMs = this.#sentAt + MIN_MS - performance.now();
    if (pauseMs > 0) {
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined;
        this.#go();
      }, pauseMs).unref();
      return;
    }
    const { percent, message } = this.#latest;
    this.#latest = undefined;
    this.#sentAt = performance.now();
    const sent = this.#send(percent, message);
    if (!(sent instanceof Promise)) return;
    this.#busy = true;
    void sent.catch(this.#onError).then(() => {
      this.#busy = false;
      this.#go();
    });
  }
}
