import { ProblemError } from "../../errors.ts";
import type { Metrics } from "../../metrics/metrics.ts";
import type { Keys } from "../../store/keys.ts";
import type { Scripts } from "../../store/library/scripts.ts";
import type { QueueSnapshot } from "../../store/line/snapshot.ts";
import type { PointerAnswer } from "../../store/ops/pointer.ts";
import type { Move, MoveVerdict } from "../../store/task/actions.ts";
import {
  type SubmitAnswer,
  type SubmitItem,
  type SubmitVerdict,
  submit,
  type UpdateVerdict,
} from "../../store/task/submit.ts";
import { Batch } from "../calls/batch.ts";
import { type Call, newCall } from "../calls/calls.ts";
import { type Homes, pointerBatch } from "../calls/homes.ts";
import { isLarge } from "../calls/large-values.ts";
import type { QueueSettings } from "../settings.ts";
import { type Item, itemOf, type Submission } from "./submission.ts";

/** The result of a submission. */
export interface SubmissionVerdict extends SubmitAnswer {
  readonly snapshot: QueueSnapshot;
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
  readonly metrics: Metrics;
  readonly call: Call;
  /** Called when a queue has refused a submission, since as many tasks wait as may; `waiting` has those that are scheduled too. */
  full(queue: string, limit: number, waiting: number): void;
  /** Called for each submission that the store has refused, since it is full. */
  storeFull(): void;
  /** Called when submissions to a queue that workers run are on their way. */
  sent(queue: string): void;
  /** Called when a task has been moved to a time, which comes in `delayMs`. */
  due(partition: number, delayMs: number): void;
  /** Called for each accepted task. */
  accepted(task: Pick<SubmitItem, "id" | "queue" | "options">, verdict: SubmissionVerdict): void;
}

/** Submits tasks. Submissions of one turn of the event loop are sent together. */
export class Submitter {
  readonly #keys: Keys;
  readonly #parts: SubmitterParts;
  readonly #batch: Batch<SubmitItem, SubmissionVerdict>;
  readonly #large: Batch<SubmitItem, SubmissionVerdict>;
  readonly #pointers: ReturnType<typeof pointerBatch>;

  constructor(parts: SubmitterParts) {
    this.#parts = parts;
    this.#keys = parts.keys;
    this.#batch = this.#batchOn(parts.scripts);
    this.#large = this.#batchOn(parts.large);
    this.#pointers = pointerBatch(parts.scripts, parts.keys);
  }

  #batchOn(scripts: Scripts): Batch<SubmitItem, SubmissionVerdict> {
    const { keys, sent } = this.#parts;
    return new Batch({
      ...submit.weights,
      send: async (partition, items) => {
        try {
          const answer = scripts.submit(keys.tag(partition), items);
          for (const queue of new Set(items.flatMap((item) => (item.turn === undefined ? item.queue : []))))
            sent(queue);
          const { snapshots, verdicts, durable } = await answer;
          const byQueue = new Map(snapshots.map((snapshot) => [snapshot.queue, snapshot]));
          const all = verdicts.map((answer, i): SubmissionVerdict => {
            const snapshot = byQueue.get(at(items, i).queue);
            if (!snapshot) throw new ProblemError("internal", "the store's answer lacks the queue");
            return Object.assign(answer, { snapshot, durable });
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

  /**
   * Stores a task and puts it in line, or returns why not. Submissions of one turn of the event loop are sent together.
   * @param listen notify this process of the end, even if the task already exists: for a {@link Wait} that has begun
   * @param trace the trace that goes with it, known only once a span has begun: copying the submission would cost more than the span
   * @throws ProblemError store-unavailable (it may have been stored anyway: submit again under the same id), store-full
   */
  submit(
    submission: Submission,
    settings: QueueSettings,
    listen = false,
    trace = submission.trace,
  ): Promise<SubmissionVerdict> {
    const item = itemOf(submission, settings, { listener: listen ? this.#parts.process : "", trace });
    return this.#isElsewhere(item) ? this.#submitFrom(item, this.#point(item)) : this.#add(item);
  }

  /** Submits several tasks of a queue in their order; never rejects. */
  async submitAll(
    submissions: readonly Submission[],
    settings: QueueSettings,
  ): Promise<readonly PromiseSettledResult<SubmissionVerdict>[]> {
    // Over two connections they might arrive out of order.
    const large = submissions.some(({ input }) => isLarge(input));
    const items = submissions.map((submission) => itemOf(submission, settings, { large }));
    if (!items.some((item) => this.#isElsewhere(item))) {
      return await this.#batchOf(large).addAll(this.#keys.partitionOfQueue(settings.queue), items);
    }
    const pointers = items.map((item) => (this.#isElsewhere(item) ? this.#point(item) : undefined));
    await Promise.allSettled(pointers);
    return await Promise.allSettled(items.map((item, n) => this.#submitFrom(item, pointers[n])));
  }

  /**
   * Replaces the input of a waiting or scheduled task, which keeps its place.
   * @param revision how often it must have been replaced before; default: any number
   * @throws ProblemError store-unavailable
   */
  update(submission: Submission, settings: QueueSettings, revision?: number): Promise<UpdateVerdict> {
    const item = { ...itemOf(submission, settings), call: newCall(), revision };
    const scripts = item.large ? this.#parts.large : this.#parts.scripts;
    return scripts.update(this.#keys.tagOfQueue(item.queue), item);
  }

  /**
   * Moves a waiting or scheduled task of a queue: to another priority, to the start or the end of its line, or to another time. The order of
   * all others stays.
   * @throws ProblemError store-unavailable
   */
  async move({ id, queue }: Pick<SubmitItem, "id" | "queue">, to: Move): Promise<MoveVerdict> {
    const { call, due } = this.#parts;
    const verdict = await call("move", { ...to, id, queue });
    // Only the store knows how far its clock is from a time: the next tick asks.
    const dueInMs = to.notBeforeMs === undefined ? to.delayMs : 0;
    if (verdict === "moved" && dueInMs !== undefined) due(this.#keys.partitionOfQueue(queue), dueInMs);
    return verdict;
  }

  /** Whether an id leads to another partition than that of the queue: only one that a caller chose does. */
  #isElsewhere({ id, queue }: Pick<SubmitItem, "id" | "queue">): boolean {
    const keys = this.#keys;
    return keys.partitions > 1 && keys.partitionOf(id) !== keys.partitionOfQueue(queue);
  }

  /** Writes the pointer from the partition of the id, so that the task is found by its id alone, and no other task gets that. */
  #point(item: Item): Promise<PointerAnswer> | undefined {
    const { id, queue, caller } = item;
    if (item.options.dryRun) return undefined;
    const home = this.#keys.partitionOfQueue(queue);
    return this.#pointers.add(this.#keys.partitionOf(id), { id, queue, caller, home }).catch((error: unknown) => {
      this.#countRefused(queue, error);
      throw error;
    });
  }

  /** Submits a task once its pointer, if it needs one, is written. */
  async #submitFrom(item: Item, pointer: Promise<PointerAnswer> | undefined): Promise<SubmissionVerdict> {
    const pointed = await pointer;
    if (pointed?.verdict === "taken" || pointed?.verdict === "foreign") return await this.#submitTaken(item);
    const submitted = await this.#add(item);
    if (pointed?.score !== undefined && isRefused(submitted)) await this.#parts.homes.refused(item.id, pointed.score);
    return pointed?.durable === false ? { ...submitted, durable: false } : submitted;
  }

  /** The id has a task of another queue: nothing is stored. */
  async #submitTaken(item: Item): Promise<SubmissionVerdict> {
    const submitted = await this.#batchOf(item.large).add(this.#keys.partitionOf(item.id), { ...item, limit: 0 });
    const { verdict } = submitted;
    if (verdict === "elsewhere" || verdict === "foreign") return submitted;
    // That task has been deleted in the meantime.
    return await this.#submitFrom(item, this.#point(item));
  }

  #add(item: Item): Promise<SubmissionVerdict> {
    return this.#batchOf(item.large).add(this.#keys.partitionOfQueue(item.queue), item);
  }

  #batchOf(large: boolean): Batch<SubmitItem, SubmissionVerdict> {
    return large ? this.#large : this.#batch;
  }

  /** A submission whose call has failed may still have been stored. */
  #countRefused(queue: string, error: unknown): void {
    const code = error instanceof ProblemError ? error.code : "internal";
    const counted = code === "store-unavailable" || code === "store-full" ? code : "internal";
    this.#parts.metrics.submissions.count(queue, counted);
    if (counted === "store-full") this.#parts.storeFull();
  }

  #note(items: readonly SubmitItem[], all: readonly SubmissionVerdict[]): void {
    const { metrics, accepted, full } = this.#parts;
    // Most are of one queue and have the same verdict: comparing is cheaper than counting each.
    let alike = 0;
    for (const [i, submitted] of all.entries()) {
      const item = at(items, i);
      const { verdict, durable } = submitted;
      alike += 1;
      if (items[i + 1]?.queue !== item.queue || all[i + 1]?.verdict !== verdict) {
        metrics.submissions.count(item.queue, verdict, alike);
        if (!durable) metrics.submissions.count(item.queue, "not-durable", alike);
        // With a limit of 0 it is only asked who has the id.
        if (verdict === "full" && item.limit > 0)
          full(item.queue, item.limit, submitted.snapshot.waiting + submitted.snapshot.scheduled);
        alike = 0;
      }
      if (verdict === "new") accepted(item, submitted);
    }
  }
}

/** Nothing was stored, and no task exists. */
const REFUSED: ReadonlySet<SubmitVerdict> = new Set<SubmitVerdict>([
  ...(["full", "webhooks-full", "too-many", "long", "late", "far", "closed"] as const),
]);
const isRefused = ({ verdict }: SubmissionVerdict): boolean => REFUSED.has(verdict);

function at<T>(list: readonly T[], n: number): T {
  const item = list[n];
  if (item === undefined) throw new RangeError(`no ${n} of ${list.length}`);
  return item;
}
