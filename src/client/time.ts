/** A duration: `"500ms"`, `"30s"`, `"5m"`, `"1h"`, `"7d"`, or milliseconds. */
export type Duration = number | string;

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of a duration. @throws TypeError */
export function msOf(value: Duration): number {
  const [, amount, unit = "ms"] = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?$/.exec(`${value}`.trim()) ?? [];
  if (amount === undefined) throw new TypeError(`${JSON.stringify(value)} is not a duration`);
  return Number(amount) * (UNITS[unit] ?? 1);
}

/** Resolves after a time. @throws the signal's reason when it fires */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  const limit = new Limit(signal, ms);
  await rejection(limit.signal).catch(() => limit.release());
  signal?.throwIfAborted();
}

/** Rejects when the signal fires. */
export function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const fire = () => reject(signal.reason);
    if (signal.aborted) fire();
    signal.addEventListener("abort", fire);
  });
}

/** The longest that setTimeout counts; a longer one would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * A signal that fires when another one does, or when a time has passed. Not `AbortSignal.any`: what it makes would stay with a
 * signal that lives as long as the process.
 */
export class Limit {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(outer: AbortSignal | undefined, time?: Duration) {
    this.#outer = outer;
    if (outer?.aborted) this.#abort();
    else outer?.addEventListener("abort", this.#abort);
    if (time !== undefined) this.within(time);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Starts the time again. */
  within(time: Duration): void {
    clearTimeout(this.#timer);
    const fire = () => this.#controller.abort(new DOMException("The time is up", "TimeoutError"));
    this.#timer = setTimeout(fire, Math.min(msOf(time), LONGEST_TIMER_MS));
  }

  /** Forgets both; idempotent. */
  release(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#abort);
  }

  /** Fires now, and forgets both. */
  end(): void {
    this.release();
    this.#controller.abort();
  }

  readonly #abort = (): void => this.#controller.abort(this.#outer?.reason);
}
