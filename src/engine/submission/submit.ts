import { ProblemError } from "../../errors.ts";
import type { Metrics } from "../../metrics.ts";
import { SHARED } from "../../store/constants.ts";
import type { Keys } from "../../store/keys.ts";
import type {
  KeyTurn,
  LimitReached,
  QueueSnapshot,
  Scripts,
  SubmitAnswer,
  SubmitItem,
  SubmitVerdict,
} from "../../store/verbs/scripts.ts";
import type { State } from "../../task.ts";
import type { SubmitOptions } from "../../wire/submit-options.ts";
import { Batch } from "../calls/batch.ts";
import { isLarge } from "../large-values/large-values.ts";
import { type Homes, pointerBatch } from "../partitions/homes.ts";
import type { LocalPlace, OtherPartitions } from "../partitions/other-partitions.ts";
import type { QueueSettings } from "../settings.ts";
import { type Item, itemOf, type Submission } from "./submission.ts";
import { Turns } from "./turns.ts";

/** The result of a submission. */
export interface SubmissionVerdict {
  readonly verdict: SubmitVerdict;
  readonly state: State | null;
  readonly index: number | null;
  readonly snapshot: QueueSnapshot;
  /** When the task was stored, perhaps by an earlier submission; 0 if there is no task. */
  readonly createdMs: number;
  /** In how many ms a task that is or would be scheduled joins the line; null for any other. */
  readonly dueInMs: number | null;
  /** Of a new task in a keyed line. */
  readonly turn?: KeyTurn | null;
  /** Of the verdict `replay` for a submission to a group: that of the task, null for none. */
  readonly group?: string | null | undefined;
  /** Of the verdict `too-many`. */
  readonly reached?: LimitReached | undefined;
  /** Whether the configured durability was confirmed; if not, the task is stored anyway and may run. */
  readonly durable: boolean;
}

/** What a submitter needs. */
export interface SubmitterParts {
  readonly scripts: Scripts;
  /** The same for large inputs, on their own connection. */
  readonly large: Scripts;
  readonly keys: Keys;
  /** The name of this process in records that it listens to. */
  readonly process: string;
  readonly homes: Homes;
  readonly others: OtherPartitions;
  readonly metrics: Metrics;
  /** Called for each accepted task. */
  accepted(task: Pick<SubmitItem, "id" | "options">, verdict: SubmissionVerdict): void;
}

/** Submits tasks. Submissions of one turn of the event loop are sent together. */
export class Submitter {
  readonly #keys: Keys;
  readonly #parts: SubmitterParts;
  readonly #batch: Batch<SubmitItem, SubmissionVerdict>;
  readonly #large: Batch<SubmitItem, SubmissionVerdict>;
  readonly #pointers: ReturnType<typeof pointerBatch>;
  readonly #turns = new Turns();

  constructor(parts: SubmitterParts) {
    this.#parts = parts;
    this.#keys = parts.keys;
    this.#batch = this.#batchOn(parts.scripts);
    this.#large = this.#batchOn(parts.large);
    this.#pointers = pointerBatch(parts.scripts, parts.keys);
  }

  #batchOn(scripts: Scripts): Batch<SubmitItem, SubmissionVerdict> {
    const { keys, others } = this.#parts;
    return new Batch({
      sizeOf: (item) => item.input.length,
      workOf,
      queueOf: (item) => item.queue,
      send: async (partition, items) => {
        try {
          const { snapshots, verdicts, durable } = await scripts.submit(keys.tag(partition), items);
          const byQueue = new Map(snapshots.map((snapshot) => [snapshot.queue, snapshot]));
          const snapshotAt = (i: number): QueueSnapshot => {
            const snapshot = byQueue.get(at(items, i).queue);
            if (!snapshot) throw new ProblemError("internal", "the store's answer lacks the queue");
            return snapshot;
          };
          const wide = keys.partitions > 1 && (await others.widen(partition, placesOf(verdicts, items, snapshotAt)));
          const all = verdicts.map(({ score: _, ...answer }, i): SubmissionVerdict => {
            const place = wide ? at(wide, i) : { index: answer.index, snapshot: snapshotAt(i) };
            return { ...answer, index: place.index, snapshot: place.snapshot, durable };
          });
          this.#note(items, all);
          return all;
        } catch (error) {
          for (const { queue } of items) this.#countRefused(queue, error);
          throw error;
        }
      },
    });
  }

  submit(
    submission: Submission,
    settings: QueueSettings,
    listen: boolean,
    trace: string | undefined,
  ): Promise<SubmissionVerdict> {
    const listener = listen ? this.#parts.process : "";
    return this.#submit(itemOf(submission, settings, this.#partitionsOf(settings), { listener, trace }), settings);
  }

  /** Over how many partitions a queue is spread. */
  #partitionsOf({ keyedConcurrency }: QueueSettings): number {
    return keyedConcurrency === undefined ? this.#keys.partitions : 1;
  }

  #submit(item: Item, settings: QueueSettings): Promise<SubmissionVerdict> {
    if (this.#keys.partitions === 1) return this.#add(0, item);
    const home = this.#homeOf(item, settings);
    return home === undefined ? this.#submitUnkeyed(item) : this.#submitTogether(item, home);
  }

  /** The partition of all tasks of a keyed queue, or of a group; undefined if that of its id is the right one. */
  #homeOf({ queue, group }: Pick<Item, "queue" | "group">, { keyedConcurrency }: QueueSettings): number | undefined {
    if (keyedConcurrency !== undefined) return this.#keys.partitionOfQueue(queue);
    return group === undefined ? undefined : this.#keys.partitionOf(group);
  }

  /** Submits several tasks in their order; never rejects. */
  async submitAll(
    submissions: readonly Submission[],
    settings: QueueSettings,
  ): Promise<readonly PromiseSettledResult<SubmissionVerdict>[]> {
    const { partitions } = this.#keys;
    // Over two connections they might arrive out of order.
    const large = submissions.some(({ input }) => isLarge(input));
    const spread = this.#partitionsOf(settings);
    const items = submissions.map((submission) => itemOf(submission, settings, spread, { large }));
    if (partitions === 1) return await this.#batchOf(large).addAll(0, items);
    const isApart = (item: Item) =>
      (this.#homeOf(item, settings) ?? this.#keys.partitionOf(item.id)) !== this.#keys.partitionOf(item.id);
    const isAlone =
      settings.keyedConcurrency !== undefined ||
      submissions.some(({ options }) => options.maxIndex !== null) ||
      items.some(isApart);
    if (isAlone) return await Promise.allSettled(items.map((item) => this.#submit(item, settings)));
    return await this.#submitSpread(items, this.#batchOf(large));
  }

  /** Tasks of one queue, to the partitions of their ids. */
  async #submitSpread(
    items: readonly Item[],
    batch: Batch<SubmitItem, SubmissionVerdict>,
  ): Promise<PromiseSettledResult<SubmissionVerdict>[]> {
    const shares = this.#keys.tags.map((): { items: Item[]; nths: number[] } => ({ items: [], nths: [] }));
    for (const [nth, item] of items.entries()) {
      const share = at(shares, this.#keys.partitionOf(item.id));
      share.items.push(item);
      share.nths.push(nth);
    }
    const ends = new Array<PromiseSettledResult<SubmissionVerdict>>(items.length);
    const pointed: number[] = [];
    const submitted = shares.map(async ({ items, nths }, partition) => {
      for (const [i, end] of (await batch.addAll(partition, items)).entries()) {
        const nth = at(nths, i);
        ends[nth] = end;
        if (end.status === "fulfilled" && end.value.verdict === "pointer") pointed.push(nth);
      }
    });
    await Promise.all(submitted);
    const found = await Promise.allSettled(pointed.map((nth) => this.#submitAtHome(at(items, nth))));
    for (const [i, end] of found.entries()) ends[at(pointed, i)] = end;
    return ends;
  }

  async #submitUnkeyed(item: Item): Promise<SubmissionVerdict> {
    const verdict = await this.#submitTo(this.#keys.partitionOf(item.id), item);
    return verdict.verdict === "pointer" ? await this.#submitAtHome(item) : verdict;
  }

  /** The task was submitted when its queue was keyed. */
  async #submitAtHome(item: Item): Promise<SubmissionVerdict> {
    const found = await this.#submitTo(await this.#parts.homes.find(item.id), item);
    if (found.verdict === "pointer") throw new ProblemError("store-unavailable");
    return found;
  }

  /**
   * All tasks of a keyed queue are in one partition, as are those of a group; the partition of the id gets the pointer before the task is
   * stored.
   */
  #submitTogether(item: Item, home: number): Promise<SubmissionVerdict> {
    const { id, queue, caller, key = "", group } = item;
    const { homes } = this.#parts;
    const own = this.#keys.partitionOf(id);
    const pointer = { id, queue, caller, home };
    const scripts = this.#scriptsOf(item.large);
    const losses = scripts.losses();
    const pointed = own === home || item.options.dryRun ? null : this.#pointers.add(own, pointer);
    const submitHome = async () => {
      const noted = await pointed?.catch((error: unknown) => {
        this.#countRefused(queue, error);
        throw error;
      });
      if (noted?.verdict === "taken") return await this.#submitTaken(own, item, home);
      homes.note(id, home);
      if (!noted) return await this.#submitTo(home, item);
      const { score, durable } = noted;
      try {
        const submitted = await this.#submitTo(home, item);
        if (score !== undefined && isRefused(submitted)) await homes.refused(id, score);
        // The store may have been emptied after the pointer was written.
        else if (scripts.losses() !== losses) await this.#pointers.add(own, pointer);
        return durable ? submitted : { ...submitted, durable };
      } catch (error) {
        homes.doubt({ pointer, score, scripts });
        throw error;
      }
    };
    if (group !== undefined) return this.#turns.take(group, pointed, submitHome);
    // Without a line key there is no order to keep.
    return key.includes(" ") ? this.#turns.take(`${queue} ${key}`, pointed, submitHome) : submitHome();
  }

  /** The id already has a task, in the partition of the id or of another queue: nothing is stored. */
  async #submitTaken(own: number, item: Item, home: number): Promise<SubmissionVerdict> {
    const verdict = await this.#submitTo(own, { ...item, limit: 0 });
    // A member of a group in a third partition.
    if (verdict.verdict === "pointer") return await this.#submitAtHome(item);
    // That task has been deleted in the meantime.
    return isRefused(verdict) ? await this.#submitTogether(item, home) : verdict;
  }

  #submitTo(partition: number, item: Item): Promise<SubmissionVerdict> {
    // The script only knows its own partition.
    const { maxIndex } = item.options;
    return maxIndex === null ? this.#add(partition, item) : this.#submitBelow(partition, item, maxIndex);
  }

  async #submitBelow(partition: number, item: Item, maxIndex: number): Promise<SubmissionVerdict> {
    const withOptions = (own: Partial<SubmitOptions>): Item => ({ ...item, options: { ...item.options, ...own } });
    if (item.share !== undefined) {
      // Only its own partition knows its place in a fair line.
      const { index } = await this.#add(partition, withOptions({ dryRun: true }));
      return await this.#add(partition, withOptions({ maxIndex: index === null || index <= maxIndex ? null : -1 }));
    }
    const elsewhere = await this.#parts.others.before(partition, item.queue, endOfClass(item));
    return await this.#add(partition, withOptions({ maxIndex: maxIndex - elsewhere }));
  }

  #add(partition: number, item: Item): Promise<SubmissionVerdict> {
    return this.#batchOf(item.large).add(partition, item);
  }

  #batchOf(large: boolean): Batch<SubmitItem, SubmissionVerdict> {
    return large ? this.#large : this.#batch;
  }

  #scriptsOf(large: boolean): Scripts {
    return large ? this.#parts.large : this.#parts.scripts;
  }

  /** A submission whose call has failed may still have been stored. */
  #countRefused(queue: string, error: unknown): void {
    const code = error instanceof ProblemError ? error.code : "internal";
    const counted = code === "store-unavailable" || code === "store-full" ? code : "internal";
    this.#parts.metrics.submissions.count(queue, counted);
  }

  #note(items: readonly SubmitItem[], all: readonly SubmissionVerdict[]): void {
    const { metrics, accepted } = this.#parts;
    // Most are of one queue and have the same verdict: comparing is cheaper than counting each.
    let alike = 0;
    for (const [i, submitted] of all.entries()) {
      const item = at(items, i);
      const { verdict, durable } = submitted;
      alike += 1;
      if (items[i + 1]?.queue !== item.queue || all[i + 1]?.verdict !== verdict) {
        if (verdict !== "pointer") metrics.submissions.count(item.queue, verdict, alike);
        if (verdict !== "pointer" && !durable) metrics.submissions.count(item.queue, "not-durable", alike);
        alike = 0;
      }
      if (verdict === "new") accepted(item, submitted);
    }
  }
}

/** A task of a fair or keyed line looks for a place of its own, and a member joins its group, so that fewer of them fit in a call of 5 ms. */
function workOf({ share, key, group }: SubmitItem): number {
  if (share !== undefined) return SHARED.moveWork;
  return key === undefined && group === undefined ? 1 : 2;
}

/** Nothing was stored, and no task exists. */
const REFUSED: ReadonlySet<SubmitVerdict> = new Set<SubmitVerdict>([
  ...(["full", "webhooks-full", "too-many", "long", "late", "far", "closed"] as const),
]);
const isRefused = ({ verdict }: SubmissionVerdict): boolean => REFUSED.has(verdict);

/** The score after all tasks of the same class. */
const endOfClass = (item: SubmitItem): string => String((item.options.priority + 1) * SHARED.classSpan);

/** The places within a partition, for counting in the others. */
function placesOf(
  verdicts: readonly SubmitAnswer[],
  items: readonly SubmitItem[],
  snapshotAt: (i: number) => QueueSnapshot,
): LocalPlace[] {
  return verdicts.map((submitted, i) => ({
    index: submitted.index,
    score: scoreOf(submitted, at(items, i)),
    snapshot: snapshotAt(i),
  }));
}

/**
 * The score that gives a task its place among those of other partitions. A task that was not stored would be the last of its class, except
 * in a fair line.
 */
function scoreOf({ verdict, index, score }: SubmitAnswer, item: SubmitItem): string {
  return (verdict === "dry" || verdict === "long") && index !== null && score === "" ? endOfClass(item) : String(score);
}

function at<T>(list: readonly T[], n: number): T {
  const item = list[n];
  if (item === undefined) throw new RangeError(`no ${n} of ${list.length}`);
  return item;
}
