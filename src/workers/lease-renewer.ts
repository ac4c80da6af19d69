import { setImmediate as turn } from "node:timers/promises";
import type { Engine } from "../engine/engine.ts";
import type { AbortCause } from "../engine/tasks/attempt-end.ts";
import { reasonOf } from "../errors.ts";
import type { Logger } from "../log.ts";
import { Loop, type Role } from "../loop.ts";
import { ChurnMap } from "../store/churn-map.ts";
import type { Attempt } from "./attempt/attempt.ts";

/** How often leases are checked, ms: a third of the shortest possible lease. */
const LOOK_MS = 300;

/** Why the handler is to stop, by the verdict of a renewal. */
const CAUSES = { cancel: "canceled", deadline: "deadline", abandoned: "abandoned", stale: "lease-lost" } as const;

/** Renews the leases of a worker process, each after a third of its length, with one timer for all. */
export class LeaseRenewer implements Role {
  readonly #engine: Engine;
  readonly #log: Logger;
  readonly #held = new ChurnMap<string, Attempt>();
  readonly #renewing = new Set<Attempt>();
  /** Attempts whose handlers only the end of the process can end. */
  readonly #stuck = new Set<Attempt>();
  readonly #loop: Loop;
  #settled: (() => void) | undefined;
  /** The store was unreachable at the last renewal, which is logged once. */
  #failing = false;

  constructor(engine: Engine, log: Logger) {
    this.#engine = engine;
    this.#log = log;
    this.#loop = new Loop({
      intervalMs: LOOK_MS,
      tick: async () => this.#tick(),
      onError: (error) => log.error({ err: error }, "lease renewer: a round failed; retrying"),
    });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** How many attempts are running. */
  get size(): number {
    return this.#held.size;
  }

  hold(attempt: Attempt): void {
    // This worker got the task again, so it had lost it without noticing.
    const earlier = this.#held.get(attempt.task.id);
    if (earlier) {
      earlier.abort("lease-lost");
      this.#stuck.delete(earlier);
    }
    this.#held.set(attempt.task.id, attempt);
  }

  drop(attempt: Attempt): void {
    if (this.#held.get(attempt.task.id) === attempt) this.#held.delete(attempt.task.id);
    this.#stuck.delete(attempt);
    if (this.#isSettled) this.#settled?.();
  }

  /** From now on {@link settled} does not wait for it; its lease is still renewed. */
  noteStuck(attempt: Attempt): void {
    if (this.#held.get(attempt.task.id) === attempt) this.#stuck.add(attempt);
    if (this.#isSettled) this.#settled?.();
  }

  get #isSettled(): boolean {
    return this.#held.size === this.#stuck.size;
  }

  /** Asks a running task to stop; false if it is not here. */
  abort(cause: AbortCause, id: string): boolean {
    const attempt = this.#held.get(id);
    attempt?.abort(cause);
    return attempt !== undefined;
  }

  /** Asks all of them to stop. */
  abortAll(cause: AbortCause): void {
    for (const attempt of this.#held.values()) attempt.abort(cause);
  }

  /** Resolves with true when no attempt that will end is still running, or with false when the time is up. */
  async settled(withinMs: number): Promise<boolean> {
    if (this.#isSettled) return true;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#settled = resolve;
      timer = setTimeout(resolve, withinMs);
    });
    clearTimeout(timer);
    return this.#isSettled;
  }

  #tick(): undefined {
    const now = performance.now();
    for (const attempt of this.#held.values()) {
      if (now - attempt.renewedAt < attempt.leaseMs / 3 - LOOK_MS || this.#renewing.has(attempt)) continue;
      // Not awaited: a partition that does not answer must not delay renewals in the others.
      void this.#renew(attempt, now);
    }
  }

  async #renew(attempt: Attempt, now: number): Promise<void> {
    const { lease, leaseMs, log } = attempt;
    this.#renewing.add(attempt);
    try {
      const verdict = await this.#engine.leases.renew(lease, leaseMs);
      attempt.renewedAt = now;
      this.#failing = false;
      // The attempt may have ended just before: the reply to that arrived together with this one, and is still being parsed.
      if (verdict === "stale") await turn();
      // A task that ended during its renewal is no longer in the list, and its lease is gone as it should be.
      if (verdict === "ok" || this.#held.get(lease.id) !== attempt) return;
      if (verdict === "stale") log.warn({ requestId: lease.id }, "the lease of a running task was lost");
      attempt.abort(CAUSES[verdict]);
    } catch (error) {
      if (!this.#failing)
        this.#log.warn({ reason: reasonOf(error) }, "lease renewer: could not renew leases; retrying");
      this.#failing = true;
    } finally {
      this.#renewing.delete(attempt);
    }
  }
}
