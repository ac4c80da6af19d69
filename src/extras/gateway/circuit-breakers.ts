import type { Events } from "../../engine/monitoring/events.ts";
import type { Gate } from "../../engine/tasks/leases.ts";
import { messageOf } from "../../errors.ts";
import { note, type TaskContext } from "../../handler/task-context.ts";
import type { Logger } from "../../log.ts";
import type { Keys } from "../../store/keys.ts";
import type { CallsOf, Scripts } from "../../store/library/scripts.ts";
import type { Reservation, ReserveAnswer } from "../../store/line/reserve.ts";
import type { Lease } from "../../store/task/lease.ts";
import * as VERBS from "./verbs.ts";

/** What an attempt has shown about the API behind a gateway. */
export interface TargetState {
  /** `down`: it could not be reached, or answered 503; `unclear`: the connection broke off, or the answer took too long. */
  readonly state: "up" | "down" | "unclear";
  readonly reason: string;
  /** Whether the request may be sent again: it is idempotent, or was not sent. */
  readonly repeatable: boolean;
}

/** Records it for the circuit breaker. */
export const noteTarget = (task: TaskContext, seen: TargetState): void => note(task, seen);

/** A task that this process has taken as a probe. */
interface Probe {
  readonly fence: string;
  readonly request: string;
}

/** Longest reason that is stored, characters. */
const REASON_LENGTH = 40;
/** How often a process tells that turns succeed although it knows of no failure, ms. */
const QUIET_MS = 5000;

/**
 * The circuit breakers of the queues of gateways: open while the target is down, over all workers.
 */
export class CircuitBreakers implements Gate {
  readonly #verbs: CallsOf<typeof VERBS>;
  readonly #keys: Keys;
  readonly #events: Pick<Events, "target">;
  /** The probes of this process, by queue. */
  readonly #probes = new Map<string, Probe>();
  /** Queues whose latest known attempt has failed: only for these is a success worth a call. */
  readonly #failing = new Set<string>();
  /** Until when the successes of turns need not be told, by queue; monotonic ms. */
  readonly #quietUntil = new Map<string, number>();

  constructor(scripts: Pick<Scripts, "of">, keys: Keys, events: Pick<Events, "target">) {
    this.#verbs = scripts.of(VERBS);
    this.#keys = keys;
    this.#events = events;
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
    const breaker = await this.#verbs.breaker(this.#tagOf(queue), { ...question, verb: "ask" });
    if (breaker.failures > 0) this.#failing.add(queue);
    else this.#failing.delete(queue);
    if (breaker.state === "closed") return await reserve(request.count);
    // Even a request for no tasks gets an answer: if it is a repetition, the tasks that it got before.
    const reserved = await reserve(breaker.state === "half-open" ? Math.min(1, request.count) : 0);
    if (breaker.state === "open") return { ...reserved, pauseMs: Math.max(reserved.pauseMs, breaker.waitMs) };
    const [first] = reserved.tasks;
    if (first) this.#probes.set(queue, { fence: first.fence, request: name });
    else await this.#verbs.breaker(this.#tagOf(queue), { ...question, verb: "return" });
    return reserved;
  }

  /** Whether this process has taken a task as a probe, and has not reported its outcome yet. */
  isProbe(lease: Lease): boolean {
    return this.#requestOf(lease) !== "";
  }

  /** With the lease of a probe renews the probe as well, so that no other one starts. */
  async renewed(lease: Lease, leaseMs: number): Promise<void> {
    if (!this.isProbe(lease)) return;
    const question = { queue: lease.queue, request: this.#requestOf(lease), leaseMs, verb: "ask" } as const;
    // If this fails, there may be a second probe.
    await this.#verbs.breaker(this.#tagOf(lease.queue), question).catch(() => undefined);
  }

  /** The task goes back if the target is down, the circuit breaker is open, and the request may be sent again. */
  async ended(lease: Lease, noted: object | undefined, log: Logger): Promise<boolean> {
    const target = noted as TargetState | undefined;
    if (target === undefined || target.state === "up") {
      // A result is stored even if this fails: without the report, there is another probe.
      const verdict = await this.note(lease, target).catch((error: unknown) => {
        log.warn({ reason: messageOf(error) }, "gateway: could not report that the API behind the gateway is up");
        return "closed" as const;
      });
      this.#tell(verdict, lease.queue, "", log);
      return false;
    }
    const verdict = await this.note(lease, target);
    this.#tell(verdict, lease.queue, target.reason, log);
    return verdict !== "closed" && target.repeatable;
  }

  /** Who took the task of a lease as a probe whose outcome is not reported yet; "" if it is none. */
  #requestOf(lease: Lease): string {
    const probe = this.#probes.get(lease.queue);
    return probe?.fence === lease.fence ? probe.request : "";
  }

  /**
   * Notes what an attempt has shown about the target, if anything. Idempotent.
   * @throws ProblemError store-unavailable
   */
  async note(lease: Lease, seen: TargetState | undefined): Promise<VERBS.BreakerVerdict> {
    const { queue, fence } = lease;
    const request = this.#requestOf(lease);
    if (seen === undefined) {
      if (request !== "") await this.#verbs.breaker(this.#tagOf(queue), { queue, request, leaseMs: 1, verb: "return" });
      this.#remove(queue, request);
      return "closed";
    }
    if (seen.state === "up" && request === "" && !this.#failing.has(queue)) return "closed";
    if (seen.state === "down") this.#failing.add(queue);
    const reason = seen.reason.slice(0, REASON_LENGTH);
    const verdict = await this.#verbs.breakerReport(this.#tagOf(queue), {
      ...{ queue, reference: fence, state: seen.state, reason, request },
    });
    this.#remove(queue, request);
    if (seen.state === "up" && verdict !== "open") this.#failing.delete(queue);
    return verdict;
  }

  /**
   * Notes what a turn at a door has shown about the target. Never rejects: without it, there is another probe.
   * @param mayProbe whether the turn may have begun to find that out: it has waited, or its queue was resting
   */
  async noteTurn(
    { queue, fence, mayProbe }: { readonly queue: string; readonly fence: string; readonly mayProbe: boolean },
    seen: TargetState,
    log: Logger,
  ): Promise<void> {
    // What others have seen is unknown here, so that a success is told now and then, too.
    const isQuiet = !mayProbe && !this.#failing.has(queue) && performance.now() < (this.#quietUntil.get(queue) ?? 0);
    if (seen.state === "up" && isQuiet) return;
    if (seen.state === "down") this.#failing.add(queue);
    const reason = seen.reason.slice(0, REASON_LENGTH);
    try {
      const report = { queue, reference: fence, state: seen.state, reason, request: "", turn: true } as const;
      const verdict = await this.#verbs.breakerReport(this.#tagOf(queue), report);
      this.#tell(verdict, queue, reason, log);
      if (seen.state !== "up" || verdict === "open") return;
      this.#failing.delete(queue);
      this.#quietUntil.set(queue, performance.now() + QUIET_MS);
    } catch (error) {
      log.warn(
        { queue, reason: messageOf(error) },
        "gateway: could not report whether the API behind the gateway is up",
      );
    }
  }

  /** Tells that the circuit breaker has opened or closed. */
  #tell(verdict: VERBS.BreakerVerdict, queue: string, reason: string, log: Logger): void {
    if (verdict === "recovered") {
      log.info({ queue }, "the API behind the gateway is up again; its circuit breaker is closed");
      void this.#events.target(queue, undefined);
    } else if (verdict === "opened") {
      log.warn({ queue, reason }, "the API behind the gateway is down; its circuit breaker is open");
      void this.#events.target(queue, reason);
    }
  }

  /** A probe has been reported; a late renewal of its lease must not make it a probe again. */
  #remove(queue: string, request: string): void {
    if (this.#probes.get(queue)?.request === request) this.#probes.delete(queue);
  }

  #tagOf(queue: string): string {
    return this.#keys.tagOfQueue(queue);
  }
}
