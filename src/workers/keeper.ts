import type { Engine } from "../engine/engine.ts";
import { messageOf } from "../errors.ts";
import type { Logger } from "../log.ts";
import { Loop, type Role } from "../loop.ts";
import type { AbortCause, Attempt } from "./attempt.ts";

/** How often the keeper looks, ms: a third of the shortest lease there can be. */
const LOOK_MS = 300;

/** Keeps the leases of a worker process: renews each at a third of its length, with one timer for all. */
export class Keeper implements Role {
  readonly #engine: Engine;
  readonly #log: Logger;
  readonly #held = new Map<string, Attempt>();
  readonly #loop: Loop;
  #settled: (() => void) | undefined;

  constructor(engine: Engine, log: Logger) {
    this.#engine = engine;
    this.#log = log;
    this.#loop = new Loop({
      intervalMs: LOOK_MS,
      tick: () => this.#tick(),
      onError: (error) => log.warn({ reason: messageOf(error) }, "leases were not renewed"),
    });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** How many attempts are under way. */
  get size(): number {
    return this.#held.size;
  }

  hold(attempt: Attempt): void {
    this.#held.set(attempt.task.id, attempt);
  }

  drop(attempt: Attempt): void {
    if (this.#held.get(attempt.task.id) === attempt) this.#held.delete(attempt.task.id);
    if (this.#held.size === 0) this.#settled?.();
  }

  /** Asks a running task to stop, or all of them. */
  abort(cause: AbortCause, id?: string): void {
    for (const attempt of id === undefined ? this.#held.values() : [this.#held.get(id)]) attempt?.abort(cause);
  }

  /** Resolves with true when no attempt is under way any more, with false when the time is up before. */
  async settled(withinMs: number): Promise<boolean> {
    if (this.#held.size === 0) return true;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#settled = resolve;
      timer = setTimeout(resolve, withinMs);
    });
    clearTimeout(timer);
    return this.#held.size === 0;
  }

  /** Hands every task still held back to the line. */
  async release(): Promise<void> {
    await Promise.allSettled(
      [...this.#held.values()].map((attempt) => this.#engine.finisher.release(attempt.lease, attempt.settings)),
    );
  }

  async #tick(): Promise<undefined> {
    const now = performance.now();
    const due = [...this.#held.values()].filter((a) => now - a.renewedAt >= a.settings.leaseMs / 3 - LOOK_MS);
    await Promise.all(due.map((attempt) => this.#renew(attempt, now)));
    return undefined;
  }

  async #renew(attempt: Attempt, now: number): Promise<void> {
    const { lease, settings } = attempt;
    const verdict = await this.#engine.renew(lease, settings.leaseMs);
    attempt.renewedAt = now;
    // A task that ended while its renewal was on the way is no longer held, and its lease is rightly gone.
    if (verdict === "ok" || this.#held.get(lease.id) !== attempt) return;
    if (verdict === "stale")
      this.#log.warn({ requestId: lease.id, queue: lease.queue }, "the lease of a running task was lost");
    attempt.abort(verdict === "stale" ? "lease-lost" : "canceled");
  }
}
