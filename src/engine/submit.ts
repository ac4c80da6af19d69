import { PaihaoError } from "../errors.ts";
import type { Metrics } from "../metrics.ts";
import { SHARED } from "../store/constants.ts";
import type { Keys } from "../store/keys.ts";
import type { QueueSnapshot, Scripts, SubmitItem, Submitted, SubmitVerdict } from "../store/scripts/scripts.ts";
import type { State } from "../task.ts";
import { Batch } from "./batch.ts";
import { isLarge } from "./large-values/large-values.ts";
import type { OtherPartitions } from "./partitions.ts";
import type { QueueSettings } from "./settings.ts";
import { itemOf, type Submission } from "./submission.ts";

/** The result of a submission. */
export interface SubmissionVerdict {
  readonly verdict: SubmitVerdict;
  readonly state: State | null;
  readonly index: number | null;
  readonly snapshot: QueueSnapshot;
  /** When the task was stored, perhaps by an earlier submission; 0 if there is no task. */
  readonly createdMs: number;
  /** Whether the configured durability was confirmed; if not, the task is stored anyway and may run. */
  readonly durable: boolean;
}

/** What a submitter needs. */
export interface SubmitterParts {
  readonly scripts: Scripts;
  /** The same for large inputs, on their own connection. */
  readonly large: Scripts;
  readonly keys: Keys;
  /** What records call this process where it listens. */
  readonly process: string;
  readonly others: OtherPartitions;
  readonly metrics: Metrics;
  /** Called for each accepted task. */
  accepted(task: Pick<Submission, "id" | "delayMs">, index: number | null, snapshot: QueueSnapshot): void;
}

/** Submits tasks. Submissions of one turn of the event loop are sent together. */
export class Submitter {
  readonly #keys: Keys;
  readonly #parts: SubmitterParts;
  readonly #batch: Batch<SubmitItem, SubmissionVerdict>;
  readonly #large: Batch<SubmitItem, SubmissionVerdict>;

  constructor(parts: SubmitterParts) {
    this.#parts = parts;
    this.#keys = parts.keys;
    this.#batch = this.#batchOn(parts.scripts);
    this.#large = this.#batchOn(parts.large);
  }

  #batchOn(scripts: Scripts): Batch<SubmitItem, SubmissionVerdict> {
    const { keys, others } = this.#parts;
    return new Batch({
      sizeOf: (item) => item.input.length,
      queueOf: (item) => item.queue,
      send: async (partition, items) => {
        const { snapshots, verdicts, durable } = await scripts.submit(keys.tag(partition), items);
        const byQueue = new Map(snapshots.map((snapshot) => [snapshot.queue, snapshot]));
        const places = verdicts.map((submitted, i) => {
          const item = items[i];
          const snapshot = item && byQueue.get(item.queue);
          if (!snapshot) throw new PaihaoError("internal", "the store's answer lacks the queue");
          return { index: submitted.index, score: scoreOf(submitted, item), snapshot };
        });
        const wide = await others.widen(partition, places);
        return verdicts.map(({ verdict, state, createdMs }, i) => {
          const { index, snapshot } = at(wide, i);
          const accepted = { verdict, state, index, snapshot, createdMs, durable };
          this.#note(at(items, i), accepted);
          return accepted;
        });
      },
    });
  }

  submit(submission: Submission, settings: QueueSettings, listen: boolean): Promise<SubmissionVerdict> {
    const partition = this.#keys.partitionOf(submission.id);
    const item = itemOf(submission, settings, this.#keys.partitions, listen ? this.#parts.process : "");
    // The script only knows its own partition.
    return item.maxIndex !== null && this.#keys.partitions > 1
      ? this.#submitBelow(partition, item, item.maxIndex)
      : this.#add(partition, item);
  }

  async #submitBelow(partition: number, item: SubmitItem, maxIndex: number): Promise<SubmissionVerdict> {
    if (item.share !== undefined) {
      // Its place in a fair line is known only to its own partition.
      const { index } = await this.#add(partition, { ...item, dryRun: true });
      return await this.#add(partition, { ...item, maxIndex: index === null || index <= maxIndex ? null : -1 });
    }
    const elsewhere = await this.#parts.others.before(partition, item.queue, endOfClass(item));
    return await this.#add(partition, { ...item, maxIndex: maxIndex - elsewhere });
  }

  #add(partition: number, item: SubmitItem): Promise<SubmissionVerdict> {
    return (isLarge(item.input) ? this.#large : this.#batch).add(partition, item);
  }

  #note(item: SubmitItem, { verdict, index, snapshot, durable }: SubmissionVerdict): void {
    const { metrics, accepted } = this.#parts;
    metrics.submissions.count(item.queue, verdict);
    if (!durable) metrics.submissions.count(item.queue, "not-durable");
    if (verdict === "new") accepted(item, index, snapshot);
  }
}

/** The score after all tasks of the same class. */
const endOfClass = (item: SubmitItem): string => String((item.priority + 1) * SHARED.classSpan);

/**
 * The score that gives a task its place among those of other partitions; a task that was not stored would be the last of its
 * class, but in a fair line.
 */
function scoreOf({ verdict, score }: Submitted, item: SubmitItem): string {
  return (verdict === "dry" || verdict === "long") && score === "" ? endOfClass(item) : score;
}

function at<T>(list: readonly T[], n: number): T {
  const item = list[n];
  if (item === undefined) throw new RangeError(`no ${n} of ${list.length}`);
  return item;
}
