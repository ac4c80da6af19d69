import type { TargetState } from "../../handler/target-state.ts";
import type { Keys } from "../../store/keys.ts";
import type { BreakerVerdict } from "../../store/verbs/breaker.ts";
import type { Lease } from "../../store/verbs/lease.ts";
import type { Reservation, ReserveAnswer } from "../../store/verbs/reserve.ts";
import type { Scripts } from "../../store/verbs/scripts.ts";

/** A task that this process has taken as a probe. */
interface Probe {
  readonly fence: string;
  readonly request: string;
}

/** Longest reason that is stored, characters. */
const REASON_LENGTH = 40;

/**
 * The circuit breakers of the queues of gateways: open while the target is down, over all workers.
 */
export class CircuitBreakers {
  readonly #scripts: Scripts;
  readonly #keys: Keys;
  /** The probes of this process, by queue. */
  readonly #probes = new Map<string, Probe>();
  /** Queues whose latest known attempt has failed: only for these is a success worth a call. */
  readonly #failing = new Set<string>();

  constructor(scripts: Scripts, keys: Keys) {
    this.#scripts = scripts;
    this.#keys = keys;
  }

  /**
   * Reserves tasks if the circuit breaker is closed; if it is half-open, one task as a probe.
   * @param reserve reserves up to the given number; idempotent for the same reservation
   * @throws ProblemError store-unavailable
   */
  async reserve(request: Reservation, reserve: (count: number) => Promise<ReserveAnswer>): Promise<ReserveAnswer> {
    const { queue, worker, lane = 0, reservation, leaseMs, sender } = request;
    // The outcome of a task leased over HTTP does not say whether the target is up, so it cannot be a probe.
    const name = sender === undefined ? `${worker} ${lane} ${reservation}` : "";
    const question = { queue, request: name, leaseMs } as const;
    const breaker = await this.#scripts.breaker(this.#tagOf(queue), { ...question, verb: "ask" });
    if (breaker.failures > 0) this.#failing.add(queue);
    else this.#failing.delete(queue);
    if (breaker.state === "closed") return await reserve(request.count);
    // Even a request for no tasks gets an answer: if it is a repetition, the tasks that it got before.
    const reserved = await reserve(breaker.state === "half-open" ? Math.min(1, request.count) : 0);
    if (breaker.state === "open") return { ...reserved, pauseMs: Math.max(reserved.pauseMs, breaker.waitMs) };
    const [first] = reserved.tasks;
    if (first) this.#probes.set(queue, { fence: first.fence, request: name });
    else await this.#scripts.breaker(this.#tagOf(queue), { ...question, verb: "return" });
    return reserved;
  }

  /** Whether this process has taken a task as a probe, and has not reported its outcome yet. */
  isProbe(lease: Lease): boolean {
    return this.#requestOf(lease) !== "";
  }

  /** The lease of a probe was renewed: renews the probe as well, so that no other one starts. */
  async renewed(lease: Lease, leaseMs: number): Promise<void> {
    const question = { queue: lease.queue, request: this.#requestOf(lease), leaseMs, verb: "ask" } as const;
    // If this fails, there may be a second probe.
    await this.#scripts.breaker(this.#tagOf(lease.queue), question).catch(() => undefined);
  }

  #requestOf(lease: Lease): string {
    const probe = this.#probes.get(lease.queue);
    return probe?.fence === lease.fence ? probe.request : "";
  }

  /**
   * Notes what an attempt has shown about the target, if anything. Idempotent.
   * @throws ProblemError store-unavailable
   */
  async note(lease: Lease, seen: TargetState | undefined): Promise<BreakerVerdict> {
    const { queue, fence } = lease;
    const request = this.#requestOf(lease);
    if (seen === undefined) {
      if (request !== "")
        await this.#scripts.breaker(this.#tagOf(queue), { queue, request, leaseMs: 1, verb: "return" });
      this.#remove(queue, request);
      return "closed";
    }
    if (seen.state === "up" && request === "" && !this.#failing.has(queue)) return "closed";
    if (seen.state === "down") this.#failing.add(queue);
    const reason = seen.reason.slice(0, REASON_LENGTH);
    const verdict = await this.#scripts.breakerReport(this.#tagOf(queue), {
      ...{ queue, reference: fence, state: seen.state, reason, request },
    });
    this.#remove(queue, request);
    if (seen.state === "up" && verdict !== "open") this.#failing.delete(queue);
    return verdict;
  }

  /** A probe has been reported; a late renewal of its lease must not make it a probe again. */
  #remove(queue: string, request: string): void {
    if (this.#probes.get(queue)?.request === request) this.#probes.delete(queue);
  }

  #tagOf(queue: string): string {
    return this.#keys.tagOfQueue(queue);
  }
}
