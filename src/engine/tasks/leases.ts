import { isInternalQueue } from "../../handler/internal-queues.ts";
import type { Logger } from "../../log.ts";
import type { Metrics } from "../../metrics/metrics.ts";
import type { Keys } from "../../store/keys.ts";
import type { Scripts } from "../../store/library/scripts.ts";
import type { Reservation, ReserveAnswer } from "../../store/line/reserve.ts";
import type { Standby } from "../../store/line/standby.ts";
import { type CompleteVerdict, type Completion, type CompletionAnswer, complete } from "../../store/task/complete.ts";
import type { FailVerdict } from "../../store/task/fail.ts";
import type { Lease, RenewalAnswer } from "../../store/task/lease.ts";
import { encodeResult } from "../../store/task/record.ts";
import type { Answer } from "../../task.ts";
import { Batch } from "../calls/batch.ts";
import type { Call } from "../calls/calls.ts";
import { isLarge, LARGE_DEFAULTS } from "../calls/large-values.ts";
import { type QueueSettings, retentionOf } from "../settings.ts";
import type { Notices } from "../watch/notices.ts";
import type { Failure } from "./attempt-end.ts";

/** Longest error text that is stored. */
const ERROR_LENGTH = 500;

/** Decides beside the line whether work is taken from the queues whose handlers are `gated`. */
export interface Gate {
  /**
   * Reserves as many tasks of the request as it lets through.
   * @param reserve reserves up to the given number; idempotent for the same reservation
   * @throws ProblemError store-unavailable
   */
  reserve(request: Reservation, reserve: (count: number) => Promise<ReserveAnswer>): Promise<ReserveAnswer>;
  /** A worker goes on with a task. Never rejects. */
  renewed(lease: Lease, leaseMs: number): Promise<void>;
  /**
   * An attempt has ended, which is not stored yet. Returns whether the task goes back to its place without using up an attempt. Idempotent.
   * @param noted what its handler has recorded, see handler/noted.ts
   * @throws ProblemError store-unavailable
   */
  ended(lease: Lease, noted: object | undefined, log: Logger): Promise<boolean>;
}

/** The dependencies of {@link Leases}. */
export interface LeasesParts {
  readonly call: Call;
  readonly scripts: Scripts;
  /** On the connection of large values. */
  readonly large: Scripts;
  readonly keys: Keys;
  readonly metrics: Metrics;
  readonly notices: Notices;
  /** Opens a connection on which reservations of a queue wait for work. */
  readonly openStandby: ((queue: string) => Promise<Standby | undefined>) | undefined;
  settings(queue: string): QueueSettings;
  /** Called when a task will be due for its next attempt. */
  noteDue(partition: number, delayMs: number): void;
}

/** What workers do: they reserve tasks, keep their leases, and end their attempts. */
export class Leases {
  readonly #parts: LeasesParts;
  /** Of the queues whose handlers are `gated`; an extension sets it. */
  gate: Gate | undefined;
  /** Those of one turn of the event loop travel together, with the next reservation if there is one. */
  readonly #completions: Batch<Completion, CompleteVerdict>;
  /** Those with large results, in separate calls on the connection of large values. */
  readonly #largeCompletions: Batch<Completion, CompleteVerdict>;

  constructor(parts: LeasesParts) {
    this.#parts = parts;
    this.#completions = this.#batchOn(parts.scripts);
    this.#largeCompletions = this.#batchOn(parts.large);
  }

  #batchOn(scripts: Scripts): Batch<Completion, CompleteVerdict> {
    const { keys, notices } = this.#parts;
    return new Batch({
      ...complete.weights,
      send: async (partition, items) => {
        const completed = await scripts.complete(keys.tag(partition), items, notices.process);
        this.#completed(items, completed);
        return completed.verdicts;
      },
    });
  }

  /**
   * Reserves up to `count` tasks of a queue, and sends the pending completions with the same call. Takes none that the
   * gate of the queue does not let through.
   * @throws ProblemError store-unavailable
   */
  reserve(request: Reservation): Promise<ReserveAnswer> {
    const gate = this.gateOf(request.queue);
    if (gate === undefined) return this.#take(request);
    return gate.reserve(request, (count) => this.#take({ ...request, count }));
  }

  /** What decides beside the line whether work of a queue is taken, if anything does. */
  gateOf(queue: string): Gate | undefined {
    return this.#parts.settings(queue).gated ? this.gate : undefined;
  }

  #take(request: Reservation): Promise<ReserveAnswer> {
    const { scripts, keys, notices } = this.#parts;
    const partition = keys.partitionOfQueue(request.queue);
    return this.#completions.sendWith(
      partition,
      (items) => scripts.reserve(keys.tag(partition), request, items, notices.process),
      (items, answer) => this.#completed(items, answer),
    );
  }

  /**
   * Opens a connection on which reservations of a queue wait for work; undefined if they cannot wait, since not only the line decides.
   */
  async openStandby(queue: string): Promise<Standby | undefined> {
    if (this.gateOf(queue) !== undefined || isInternalQueue(queue)) return undefined;
    return await this.#parts.openStandby?.(queue);
  }

  /** Renews a lease; "cancel", "deadline" and "abandoned" ask the worker to stop, "stale" means that the lease is lost. */
  async renew(lease: Lease, leaseMs: number): Promise<RenewalAnswer["verdict"]> {
    const { verdict } = await this.#parts.call("renew", { ...lease, leaseMs });
    const gate = this.gateOf(lease.queue);
    if (gate !== undefined) await gate.renewed(lease, leaseMs);
    return verdict;
  }

  /**
   * Stores the result of an attempt. Idempotent.
   * @param more its service time where that is not the time since it was taken, and whether its end is announced
   * @throws ProblemError store-unavailable
   */
  complete(
    { queue, id, fence }: Lease,
    result: Answer,
    { resultTtlMs, tombstoneTtlMs }: QueueSettings,
    { serviceMs, announced = true }: Pick<Completion, "serviceMs" | "announced"> = {},
  ): Promise<CompleteVerdict> {
    // Member by member, since spreading objects is much slower, and this runs for every task.
    const [keepMs, tombstoneMs] = [resultTtlMs, tombstoneTtlMs];
    const item = { queue, id, fence, result: encodeResult(result), keepMs, tombstoneMs, serviceMs, announced };
    const batch = isLarge(item.result) ? this.#largeCompletions : this.#completions;
    return batch.add(this.#parts.keys.partitionOfQueue(queue), item);
  }

  /** Counts completions, and notifies those who wait for them in this process. */
  #completed(items: readonly Completion[], { verdicts, own }: CompletionAnswer): void {
    const { metrics, notices } = this.#parts;
    metrics.countEndings(items, verdicts);
    for (const { nth, attempts, finishedMs } of own) {
      const item = items[nth];
      if (!item || !notices.has(item.id)) continue;
      const { id, keepMs, result } = item;
      // A long result is read back in pieces as its callers take it: held in memory, it would wait for the slowest.
      if (result.length > LARGE_DEFAULTS.pieceBytes) {
        notices.notify(id, null);
        continue;
      }
      const stored = typeof result === "string" ? Buffer.from(result) : result;
      const end = { state: "succeeded", finishedMs, expiresMs: finishedMs + keepMs, attempts, result: stored } as const;
      notices.notify(id, { id, ended: true, output: false, end });
    }
    // The answer to an earlier call was lost, and with it the notice of the end.
    for (const [n, { id }] of items.entries()) if (verdicts[n] === "already") notices.notify(id, null);
  }

  /** Ends an attempt that did not succeed. Idempotent. @throws ProblemError store-unavailable */
  async fail(lease: Lease, failure: Failure, settings: QueueSettings): Promise<FailVerdict> {
    const { call, keys, noteDue } = this.#parts;
    const verdict = await call("fail", {
      ...lease,
      kind: failure.kind,
      attempts: settings.attempts,
      delayMs: failure.delayMs,
      ordered: settings.keyedWaiting === undefined,
      error: failure.error.slice(0, ERROR_LENGTH),
      code: failure.code,
      result: encodeResult(failure.result),
      ...retentionOf(settings),
      // A dead task is kept longer than a result, so that it can be inspected and retried.
      deadMs: settings.deadTtlMs,
    });
    if (verdict === "retrying") noteDue(keys.partitionOfQueue(lease.queue), failure.delayMs);
    return verdict;
  }
}
