import type { Metrics } from "../metrics.ts";
import type { Keys } from "../store/keys.ts";
import { encodeResult } from "../store/result.ts";
import type {
  CompleteVerdict,
  Completion,
  FailItem,
  FailKind,
  FailVerdict,
  Lease,
  Retention,
  Scripts,
} from "../store/scripts/scripts.ts";
import type { Answer } from "../task.ts";
import { Batch } from "./batch.ts";
import { isLarge } from "./large-values/large-values.ts";
import { DEAD_CAP, type QueueSettings } from "./settings.ts";

/** An attempt that did not succeed. */
export interface Failure {
  readonly kind: FailKind;
  /** Until the next attempt, where there is one. */
  readonly delayMs: number;
  /** For the record of last errors, bounded here. */
  readonly error: string;
  /** The catalogue's code when this is the end. */
  readonly code: string;
  /** The answer when this is the end: a problem document. */
  readonly result: Answer;
}

/** Longest text of an error that is kept. */
const ERROR_LENGTH = 500;

/** How long what a queue finishes stays. */
export function retentionOf(settings: QueueSettings): Retention {
  return { keepMs: settings.resultTtlMs, tombstoneMs: settings.tombstoneTtlMs };
}

/** Ends what a worker has taken: completes it, fails it or hands it back. Ends of one turn travel together. */
export class Finisher {
  readonly #keys: Keys;
  readonly #metrics: Metrics;
  readonly #retrying: (id: string, delayMs: number) => void;
  readonly #completions: Batch<Completion, CompleteVerdict>;
  readonly #failures: Batch<FailItem, FailVerdict>;
  readonly #releases: Batch<Lease & Retention, "released" | "canceled" | "stale">;
  /** Those with large results, each in a call of its own on the connection of large values. */
  readonly #large: {
    readonly completions: Batch<Completion, CompleteVerdict>;
    readonly failures: Batch<FailItem, FailVerdict>;
  };

  /** @param retrying told of each task that will be due again */
  constructor(
    { scripts, large, keys }: { scripts: Scripts; large: Scripts; keys: Keys },
    metrics: Metrics,
    retrying: (id: string, delayMs: number) => void,
  ) {
    this.#retrying = retrying;
    this.#keys = keys;
    this.#metrics = metrics;
    this.#completions = this.#completionsOn(scripts);
    this.#failures = this.#failuresOn(scripts);
    this.#large = { completions: this.#completionsOn(large), failures: this.#failuresOn(large) };
    this.#releases = new Batch({
      send: (partition, items) => this.#counted(items, scripts.release(keys.tag(partition), items)),
    });
  }

  #completionsOn(scripts: Scripts): Batch<Completion, CompleteVerdict> {
    return new Batch({
      sizeOf: (item) => item.result.length,
      send: (partition, items) => this.#counted(items, scripts.complete(this.#keys.tag(partition), items)),
    });
  }

  #failuresOn(scripts: Scripts): Batch<FailItem, FailVerdict> {
    return new Batch({
      sizeOf: (item) => item.result.length,
      send: (partition, items) => this.#counted(items, scripts.fail(this.#keys.tag(partition), items, DEAD_CAP)),
    });
  }

  /** Stores the result. Saying it twice is harmless. @throws PaihaoError store-unavailable */
  complete(lease: Lease, result: Answer, settings: QueueSettings): Promise<CompleteVerdict> {
    const { queue, id, fence } = lease;
    const { resultTtlMs, tombstoneTtlMs } = settings;
    // Member by member: copying objects into one another takes far longer, and this is done for every task.
    const item = { queue, id, fence, result: encodeResult(result), keepMs: resultTtlMs, tombstoneMs: tombstoneTtlMs };
    const batch = isLarge(item.result) ? this.#large.completions : this.#completions;
    return batch.add(this.#keys.partitionOf(id), item);
  }

  /** Lets a call to a partition take along the completions that have not been sent, see {@link Batch.escort}. */
  escort<T extends { readonly verdicts: readonly CompleteVerdict[] }>(
    partition: number,
    call: (completions: readonly Completion[]) => Promise<T>,
  ): Promise<T> {
    return this.#completions.escort(partition, async (items) => {
      const answer = await call(items);
      this.#count(items, answer.verdicts);
      return answer;
    });
  }

  /** Ends an attempt: another one later, or the task's end. Saying it twice is harmless. @throws PaihaoError store-unavailable */
  async fail(lease: Lease, failure: Failure, settings: QueueSettings): Promise<FailVerdict> {
    const result = encodeResult(failure.result);
    const batch = isLarge(result) ? this.#large.failures : this.#failures;
    const verdict = await batch.add(this.#keys.partitionOf(lease.id), {
      ...lease,
      kind: failure.kind,
      attempts: settings.attempts,
      delayMs: failure.delayMs,
      error: failure.error.slice(0, ERROR_LENGTH),
      code: failure.code,
      result,
      ...retentionOf(settings),
      // What dies stays to be looked at and run again, longer than an answer would.
      deadMs: settings.deadTtlMs,
    });
    if (verdict === "retrying") this.#retrying(lease.id, failure.delayMs);
    return verdict;
  }

  /** Hands a task back to its old place; the attempt does not count. @throws PaihaoError store-unavailable */
  release(lease: Lease, settings: QueueSettings): Promise<"released" | "canceled" | "stale"> {
    return this.#releases.add(this.#keys.partitionOf(lease.id), { ...lease, ...retentionOf(settings) });
  }

  async #counted<V extends string>(items: readonly Lease[], verdicts: Promise<V[]>): Promise<V[]> {
    const endings = await verdicts;
    this.#count(items, endings);
    return endings;
  }

  #count(items: readonly Lease[], endings: readonly string[]): void {
    for (const [i, { queue }] of items.entries()) this.#metrics.endings.count(queue, endings[i] ?? "unknown");
  }
}
