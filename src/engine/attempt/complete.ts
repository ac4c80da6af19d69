import type { Metrics } from "../../metrics/metrics.ts";
import { SHARED } from "../../store/constants.ts";
import type { Keys } from "../../store/keys.ts";
import { encodeResult } from "../../store/result.ts";
import type { CompleteVerdict, Completion, CompletionAnswer } from "../../store/verbs/complete.ts";
import type { Lease } from "../../store/verbs/lease.ts";
import type { Scripts } from "../../store/verbs/scripts.ts";
import type { Answer } from "../../task.ts";
import { Batch } from "../calls/batch.ts";
import { isLarge, LARGE_DEFAULTS } from "../large-values/large-values.ts";
import type { QueueSettings } from "../settings.ts";
import type { Notices } from "../watching/notices.ts";

/** The dependencies of {@link Completions} and failures. */
export interface EndingParts {
  readonly scripts: Scripts;
  /** On the connection of large values. */
  readonly large: Scripts;
  readonly keys: Keys;
  readonly metrics: Metrics;
  readonly notices: Notices;
}

/** Completes tasks. Completions of one turn of the event loop are sent together. */
export class Completions {
  readonly #parts: EndingParts;
  readonly #batch: Batch<Completion, CompleteVerdict>;
  /** Those with large results, in separate calls on the connection of large values. */
  readonly #large: Batch<Completion, CompleteVerdict>;

  constructor(parts: EndingParts) {
    this.#parts = parts;
    this.#batch = this.#batchOn(parts.scripts);
    this.#large = this.#batchOn(parts.large);
  }

  #batchOn(scripts: Scripts): Batch<Completion, CompleteVerdict> {
    const { keys, notices } = this.#parts;
    return new Batch({
      sizeOf: (item) => item.result.length,
      workOf: (item) => (item.announced ? SHARED.moveWork : 1),
      send: async (partition, items) => {
        const completed = await scripts.complete(keys.tag(partition), items, notices.process);
        this.#note(items, completed);
        return completed.verdicts;
      },
    });
  }

  /** Counts the ends, and notifies listeners in this process. */
  #note(items: readonly Completion[], { verdicts, own }: CompletionAnswer): void {
    const { metrics, notices } = this.#parts;
    metrics.countEndings(items, verdicts);
    for (const { nth, attempts, finishedMs } of own) {
      const item = items[nth];
      if (!item || !notices.has(item.id)) continue;
      const { id, keepMs, result } = item;
      // A long result is read back in pieces as its callers take it: held in memory, it would wait for the slowest.
      if (result.length > LARGE_DEFAULTS.pieceBytes) {
        notices.tell(id, null);
        continue;
      }
      const stored = typeof result === "string" ? Buffer.from(result) : result;
      const end = { state: "succeeded", finishedMs, expiresMs: finishedMs + keepMs, attempts, result: stored } as const;
      notices.tell(id, { id, ended: true, output: false, end });
    }
    // The answer to an earlier call was lost, and with it the notice of the end.
    for (const [n, { id }] of items.entries()) if (verdicts[n] === "already") notices.tell(id, null);
  }

  add(
    lease: Lease,
    result: Answer,
    settings: QueueSettings,
    { untimed, announced = true }: Pick<Completion, "untimed" | "announced">,
  ): Promise<CompleteVerdict> {
    const { queue, id, fence } = lease;
    const { resultTtlMs, tombstoneTtlMs } = settings;
    // Member by member, since spreading objects is much slower, and this runs for every task.
    const [keepMs, tombstoneMs] = [resultTtlMs, tombstoneTtlMs];
    const item = { queue, id, fence, result: encodeResult(result), keepMs, tombstoneMs, untimed, announced };
    const batch = isLarge(item.result) ? this.#large : this.#batch;
    return batch.add(this.#parts.keys.partitionOfQueue(queue), item);
  }

  /** Lets a call to a partition carry the completions that have not been sent, see {@link Batch.escort}. */
  escort<T extends CompletionAnswer>(
    partition: number,
    call: (completions: readonly Completion[]) => Promise<T>,
  ): Promise<T> {
    return this.#batch.escort(partition, call, (items, reply) => this.#note(items, reply));
  }
}
