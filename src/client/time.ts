import { LONGEST_TIMER_MS } from "./figures.ts";
import { valid } from "./problem.ts";

/** A duration: `"500ms"`, `"30s"`, `"5m"`, `"1h"`, `"7d"`, or milliseconds. */
export type Duration = number | string;

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of a duration. @throws TypeError */
export function msOf(value: Duration): number {
  const text = valid("duration", `${value}`.trim(), /^\d+(\.\d+)?\s*(ms|[smhd])?$/);
  return Number(text.replace(/[^\d.]+/, "")) * (UNITS[text.replace(/[\d.\s]+/, "")] ?? 1);
}

/** Resolves after a time. @throws the signal's reason when it fires */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  const limit = new Limit(signal, ms);
  await rejection(limit.signal).catch(() => undefined);
  signal?.throwIfAborted();
}

/** Rejects when the signal, which is this client's own, fires. Takes its `onabort`. */
export function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.onabort = () => reject(signal.reason);
    signal.throwIfAborted();
  });
}

/** The limits that depend on each signal. They share one listener, since Node warns of signals with more than ten. */
const LIMITS = new WeakMap<AbortSignal, Set<Limit>>();

function abortAll(this: AbortSignal): void {
  for (const limit of LIMITS.get(this) ?? []) limit.abort(this.reason);
}

/**
 * A signal that fires when another one does, or when a time has passed. Not `AbortSignal.any`: its signals would accumulate on
 * one that lives as long as the process.
 */
export class Limit extends AbortController {
  readonly #outer: AbortSignal | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(outer: AbortSignal | undefined, time?: Duration) {
    super();
    if (time !== undefined) this.within(time);
    this.#outer = outer;
    if (outer?.aborted) this.abort(outer.reason);
    else if (outer) {
      LIMITS.set(outer, (LIMITS.get(outer) ?? new Set()).add(this));
      // Added once, since it is the same function.
      outer.addEventListener("abort", abortAll);
    }
  }

  /** Starts the time again. */
  within(time: Duration): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => this.abort(new DOMException("The time is up", "TimeoutError")),
      Math.min(msOf(time), LONGEST_TIMER_MS),
    );
  }

  /** Drops both; idempotent. */
  release(): void {
    clearTimeout(this.#timer);
    const outer = this.#outer as AbortSignal;
    // There are none without one.
    const limits = LIMITS.get(outer);
    if (limits?.delete(this) && !limits.size) outer.removeEventListener("abort", abortAll);
  }

  /** Fires now, and drops both. */
  override abort(reason?: unknown): void {
    this.release();
    super.abort(reason);
  }
}
