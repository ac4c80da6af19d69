import { isInternalQueue } from "../handler/internal-queues.ts";
import type { Keys } from "../store/keys.ts";
import type { Standby } from "../store/standby.ts";
import type { CompleteVerdict, Completion } from "../store/verbs/complete.ts";
import type { FailVerdict } from "../store/verbs/fail.ts";
import type { BeginVerdict, Lease, LoseVerdict, ReleaseVerdict, RenewalAnswer } from "../store/verbs/lease.ts";
import type { Reservation, ReserveAnswer, ReturnedReservation } from "../store/verbs/reserve.ts";
import type { Scripts } from "../store/verbs/scripts.ts";
import type { Retention } from "../store/verbs/settle.ts";
import type { Answer } from "../task.ts";
import type { Completions } from "./attempt/complete.ts";
import type { Failure, Failures } from "./attempt/fail.ts";
import type { BatchedVerbs } from "./calls/batched-verbs.ts";
import { lossOf } from "./maintenance/tick.ts";
import type { CircuitBreakers } from "./reservation/circuit-breakers.ts";
import { type QueueSettings, retentionOf } from "./settings.ts";

/** The dependencies of {@link Leases}. */
export interface LeasesParts {
  readonly scripts: Scripts;
  readonly keys: Keys;
  /** The name of this process in records, as a listener. */
  readonly process: string;
  readonly breakers: CircuitBreakers;
  readonly completions: Completions;
  readonly failures: Failures;
  readonly batched: BatchedVerbs;
  /** Opens a connection on which reservations of a queue wait for work. */
  readonly openStandby: ((queue: string) => Promise<Standby | undefined>) | undefined;
  settings(queue: string): QueueSettings;
  /** Called when a task will be due for its next attempt. */
  noteDue(partition: number, delayMs: number): void;
}

/** What workers do: they reserve tasks, keep their leases, and end their attempts. */
export class Leases {
  readonly #parts: LeasesParts;

  constructor(parts: LeasesParts) {
    this.#parts = parts;
  }

  /**
   * Reserves up to `count` tasks of a queue, and sends the pending completions with the same call. Takes none while the queue's circuit
   * breaker is open.
   * @throws ProblemError store-unavailable
   */
  reserve(request: Reservation): Promise<ReserveAnswer> {
    const { breakers, settings } = this.#parts;
    if (!settings(request.queue).hasBreaker) return this.#take(request);
    return breakers.reserve(request, (count) => this.#take({ ...request, count }));
  }

  #take(request: Reservation): Promise<ReserveAnswer> {
    const { scripts, keys, process, completions } = this.#parts;
    const partition = keys.partitionOfQueue(request.queue);
    return completions.escort(partition, (items) => scripts.reserve(keys.tag(partition), request, items, process));
  }

  /** Hands back what a request over HTTP has reserved. @throws ProblemError store-unavailable */
  async unreserve(request: Omit<ReturnedReservation, keyof Retention>): Promise<void> {
    const { scripts, keys, settings } = this.#parts;
    const { queue } = request;
    const tag = keys.tagOfQueue(queue);
    await scripts.unreserve(tag, { ...request, ...retentionOf(settings(queue)) });
  }

  /**
   * Opens a connection on which reservations of a queue wait for work; undefined if they cannot wait, since not only the line decides: the
   * target of a gateway may be down.
   */
  async openStandby(queue: string): Promise<Standby | undefined> {
    const { settings, openStandby } = this.#parts;
    if (settings(queue).hasBreaker || isInternalQueue(queue)) return undefined;
    return await openStandby?.(queue);
  }

  /**
   * Reports that the handler of a suspect begins; its lease then lasts `leaseMs`. It must not begin unless the verdict is "ok".
   * @param apart whether it runs in a child process: the death of its worker is not counted as a loss then; {@link lose} reports that of the
   *   child
   */
  begin(lease: Lease, leaseMs: number, apart = false): Promise<BeginVerdict> {
    return this.#parts.batched.begin({ ...lease, leaseMs, apart });
  }

  /** Renews a lease; "cancel", "deadline" and "abandoned" ask the worker to stop, "stale" means that the lease is lost. */
  async renew(lease: Lease, leaseMs: number): Promise<RenewalAnswer["verdict"]> {
    const { batched, breakers } = this.#parts;
    const { verdict } = await batched.renew({ ...lease, leaseMs });
    if (breakers.isProbe(lease)) await breakers.renewed(lease, leaseMs);
    return verdict;
  }

  /** The same, by the length that was requested over HTTP, else the queue's lease; returns that length. */
  renewAsTaken(lease: Lease): Promise<RenewalAnswer> {
    const { leaseMs } = this.#parts.settings(lease.queue);
    return this.#parts.batched.renew({ ...lease, leaseMs, asTaken: true });
  }

  /** Stores the progress of a running task. */
  progress({ queue, id, fence }: Lease, percent: number, message: string): Promise<"ok" | "stale"> {
    return this.#parts.batched.progress({ queue, id, fence, progress: `${percent} ${message}` });
  }

  /**
   * Stores the result of an attempt. Idempotent.
   * @param more what does not count as service time in the statistics of the queue, and whether the end is announced
   * @throws ProblemError store-unavailable
   */
  complete(
    lease: Lease,
    result: Answer,
    settings: QueueSettings,
    more: Pick<Completion, "untimed" | "announced"> = {},
  ): Promise<CompleteVerdict> {
    return this.#parts.completions.add(lease, result, settings, more);
  }

  /** Ends an attempt that did not succeed. Idempotent. @throws ProblemError store-unavailable */
  async fail(lease: Lease, failure: Failure, settings: QueueSettings): Promise<FailVerdict> {
    const { failures, keys, noteDue } = this.#parts;
    const verdict = await failures.add(lease, failure, settings);
    if (verdict === "retrying") noteDue(keys.partitionOfQueue(lease.queue), failure.delayMs);
    return verdict;
  }

  /** Returns a task to its old place; the attempt does not count. @throws ProblemError store-unavailable */
  release(lease: Lease, settings: QueueSettings): Promise<ReleaseVerdict> {
    return this.#parts.batched.release({ ...lease, ...retentionOf(settings) });
  }

  /** Reports a task whose process died while it ran, although this worker is alive. */
  lose(lease: Lease, settings: QueueSettings): Promise<LoseVerdict> {
    return this.#parts.batched.lose({ ...lease, ...lossOf(settings) });
  }
}
