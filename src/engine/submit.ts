import { createHash } from "node:crypto";
import { PaihaoError } from "../errors.ts";
import type { Metrics } from "../metrics.ts";
import { INLINE_BYTES, type Keys } from "../store/keys.ts";
import type { Line, Scripts, SubmitItem, Submitted, SubmitVerdict, UpdateVerdict } from "../store/scripts/scripts.ts";
import type { State } from "../task.ts";
import { Batch } from "./batch.ts";
import { isLarge } from "./large-values/large-values.ts";
import { newCall } from "./new-call.ts";
import type { OtherPartitions } from "./partitions.ts";
import type { QueueSettings } from "./settings.ts";

/** A task as it is handed in: checked, but not yet stored. */
export interface Submission {
  readonly id: string;
  readonly queue: string;
  /** JSON text, or bytes of another media type. */
  readonly input: string | Buffer;
  readonly mediaType: string;
  /** What the submission must have in common with another to be the same, where that is not the whole input. */
  readonly identity?: string;
  /** Query parameters for the handler. */
  readonly query: Readonly<Record<string, string>>;
  readonly caller: string | null;
  /** 0 most urgent … 7. */
  readonly priority: number;
  readonly delayMs: number;
  /** Refuse when more than this many would start before it; null for any. */
  readonly maxIndex: number | null;
  /** Only tell where it would stand. */
  readonly dryRun: boolean;
  /** URL that is told of the task's end; null for none. */
  readonly webhook: string | null;
}

/** What became of a submission. */
export interface SubmissionVerdict {
  readonly verdict: SubmitVerdict;
  readonly state: State | null;
  readonly index: number | null;
  readonly line: Line;
  /** When the task was stored, be it by an earlier submission; 0 where there is none. */
  readonly createdMs: number;
  /** Whether it is as durable as this server promises; when not, it is stored all the same and may run. */
  readonly durable: boolean;
}

/** The distance between two priority classes in a score, as in lua/lib/clock.lua. */
const CLASS = 2 ** 45;

/** What a submitter is made of. */
export interface SubmitterParts {
  readonly scripts: Scripts;
  /** The same for large inputs, on a connection of their own. */
  readonly large: Scripts;
  readonly keys: Keys;
  readonly others: OtherPartitions;
  readonly metrics: Metrics;
  /** Told of each task that was accepted. */
  accepted(task: Pick<Submission, "id" | "delayMs">, index: number | null, line: Line): void;
}

/** Hands tasks in. Submissions of one turn of the event loop travel together. */
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
        const { lines, verdicts, durable } = await scripts.submit(keys.tag(partition), items);
        const byQueue = new Map(lines.map((line) => [line.queue, line]));
        const places = verdicts.map((submitted, i) => {
          const item = items[i];
          const line = item && byQueue.get(item.queue);
          if (!line) throw new PaihaoError("internal", "the store told nothing of the queue");
          return { index: submitted.index, score: scoreOf(submitted, item), line };
        });
        const wide = await others.widen(partition, places);
        return verdicts.map(({ verdict, state, createdMs }, i) => {
          const { index, line } = at(wide, i);
          const accepted = { verdict, state, index, line, createdMs, durable };
          this.#note(at(items, i), accepted);
          return accepted;
        });
      },
    });
  }

  /**
   * Stores a task and puts it in line, or says why not.
   * @throws PaihaoError store-unavailable (it may be stored all the same: submit again under the same id), store-full
   */
  submit(submission: Submission, settings: QueueSettings): Promise<SubmissionVerdict> {
    const partition = this.#keys.partitionOf(submission.id);
    const item = this.#item(submission, settings);
    // The script sees but its own partition.
    return item.maxIndex !== null && this.#keys.partitions > 1
      ? this.#submitBelow(partition, item, item.maxIndex)
      : this.#add(partition, item);
  }

  async #submitBelow(partition: number, item: SubmitItem, maxIndex: number): Promise<SubmissionVerdict> {
    const elsewhere = await this.#parts.others.before(partition, item.queue, endOfClass(item));
    return await this.#add(partition, { ...item, maxIndex: maxIndex - elsewhere });
  }

  #add(partition: number, item: SubmitItem): Promise<SubmissionVerdict> {
    return (isLarge(item.input) ? this.#large : this.#batch).add(partition, item);
  }

  #note(item: SubmitItem, { verdict, index, line, durable }: SubmissionVerdict): void {
    const { metrics, accepted } = this.#parts;
    metrics.submissions.count(item.queue, verdict);
    if (!durable) metrics.submissions.count(item.queue, "not-durable");
    if (verdict === "new") accepted(item, index, line);
  }

  /**
   * Replaces the input of a waiting or scheduled task, which keeps its place.
   * @param revision how often it may have been replaced before; left out: any number
   * @throws PaihaoError store-unavailable
   */
  update(submission: Submission, settings: QueueSettings, revision?: number): Promise<UpdateVerdict> {
    const { scripts, large } = this.#parts;
    const item = { ...this.#item(submission, settings), call: newCall(), revision };
    return (isLarge(item.input) ? large : scripts).update(this.#keys.tag(this.#keys.partitionOf(item.id)), item);
  }

  #item(s: Submission, settings: QueueSettings): SubmitItem {
    const bytes = typeof s.input === "string" ? Buffer.byteLength(s.input) : s.input.length;
    return {
      id: s.id,
      queue: s.queue,
      priority: s.priority,
      delayMs: s.delayMs,
      input: s.input,
      digest: bytes > INLINE_BYTES || s.identity !== undefined ? digestOf(s.identity ?? s.input) : "",
      mediaType: s.mediaType === "application/json" ? "" : s.mediaType,
      query: Object.keys(s.query).length > 0 ? JSON.stringify(s.query) : "",
      caller: s.caller ?? "",
      limit: Math.ceil(settings.maxWaiting / this.#keys.partitions),
      maxIndex: s.maxIndex,
      dryRun: s.dryRun,
      webhook: s.webhook ?? "",
      undo: settings.undo,
    };
  }
}

function digestOf(identity: string | Buffer): string {
  return createHash("sha256").update(identity).digest("hex").slice(0, 32);
}

/** The score behind all that is as urgent. */
const endOfClass = (item: SubmitItem): string => String((item.priority + 1) * CLASS);

/** By which score a task is to be placed among those of other partitions: one that was not stored would be the last of its class. */
function scoreOf({ verdict, score }: Submitted, item: SubmitItem): string {
  return verdict === "dry" || verdict === "long" ? endOfClass(item) : score;
}

function at<T>(list: readonly T[], n: number): T {
  const item = list[n];
  if (item === undefined) throw new RangeError(`no ${n} of ${list.length}`);
  return item;
}
