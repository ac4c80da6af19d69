import type { Keys } from "../../store/keys.ts";
import type { Scripts } from "../../store/library/scripts.ts";
import type { Pointer } from "../../store/ops/pointer.ts";
import { Batch } from "./batch.ts";

const REMEMBERED = 100_000;
/** When a pointer is first checked for its task, ms: long after its submission must have ended. */
const CHECK_MS = 600_000;
/** How often the pointer is checked after that until the task has ended, ms; then once more, when the last of the task is deleted. */
const NEXT_MS = 3_600_000;

/**
 * Finds the partition (home) of a task by its id alone. A task is in the partition of its queue. Ids that the server makes lead there by their
 * hash; for one that a caller chose, the partition of the id has a pointer to the task.
 */
export class Homes {
  readonly #keys: Keys;
  readonly #scripts: Scripts;
  readonly #pointers: Batch<string, number | null>;
  readonly #lifetimes: Batch<string, number>;
  /** By id; only those that have been found elsewhere, the latest last. */
  readonly #known = new Map<string, number>();
  readonly #remembered: number;

  /** @param remembered how many ids at most that do not lead to their task or group */
  constructor(scripts: Scripts, keys: Keys, remembered = REMEMBERED) {
    this.#remembered = remembered;
    this.#keys = keys;
    this.#scripts = scripts;
    this.#pointers = new Batch({ send: (partition, ids) => scripts.home(keys.tag(partition), ids) });
    this.#lifetimes = new Batch({ send: (partition, ids) => scripts.lifetimes(keys.tag(partition), ids) });
  }

  /**
   * Calls a verb where a task or group is of which only the id is known: where it was found before, or where its id leads; and if it is not
   * there, where its pointer leads.
   * @param isAbsent whether an answer may mean that it is in another partition
   */
  at<Answer>(
    id: string,
    call: (partition: number) => Promise<Answer>,
    isAbsent: (answer: Answer) => boolean,
  ): Promise<Answer> {
    return this.#keys.partitions === 1 ? call(0) : this.#search(id, call, isAbsent);
  }

  async #search<Answer>(
    id: string,
    call: (partition: number) => Promise<Answer>,
    isAbsent: (answer: Answer) => boolean,
  ): Promise<Answer> {
    const partition = this.#known.get(ownerOf(id)) ?? this.#keys.partitionOf(id);
    const answer = await call(partition);
    if (!isAbsent(answer)) return answer;
    const home = await this.#find(id);
    return home === partition ? answer : await call(home);
  }

  /** Where it is according to the partition of its id. @throws ProblemError store-unavailable */
  async #find(id: string): Promise<number> {
    const partition = this.#keys.partitionOf(id);
    const owner = ownerOf(id);
    const home = await this.#pointers.add(partition, owner);
    this.#known.delete(owner);
    if (home === null) return partition;
    this.#known.set(owner, home);
    const [oldest] = this.#known.keys();
    if (this.#known.size > this.#remembered && oldest !== undefined) this.#known.delete(oldest);
    return home;
  }

  /** A task was refused: deletes the pointer of its submission, unless the id has been submitted again. */
  async refused(id: string, score: string): Promise<void> {
    this.#known.delete(ownerOf(id));
    const tag = this.#keys.tag(this.#keys.partitionOf(id));
    // If this fails, `check` does it later.
    await this.#scripts.repoint(tag, { checked: [{ id, score, nextMs: null }], limit: 0 }).catch(() => undefined);
  }

  /**
   * Checks some pointers of a partition that are due, and deletes those without a task. Returns whether there may be more.
   * @throws ProblemError store-unavailable
   */
  async check(partition: number): Promise<boolean> {
    const tag = this.#keys.tag(partition);
    const due = await this.#scripts.repoint(tag, { checked: [] });
    if (due.length === 0) return false;
    const checked = due.map(async ({ id, score, home }) => {
      const leftMs = home === null ? 0 : await this.#lifetimes.add(home, id);
      return { id, score, nextMs: leftMs === 0 ? null : Number.isFinite(leftMs) ? leftMs : NEXT_MS };
    });
    await this.#scripts.repoint(tag, { checked: await Promise.all(checked), limit: 0 });
    return true;
  }
}

/**
 * Writes pointers to tasks that will be stored, in the partitions of their ids. The calls of one turn of the event loop travel together.
 */
export function pointerBatch(scripts: Scripts, keys: Keys) {
  return new Batch({
    send: (partition: number, items: readonly Pointer[]) =>
      scripts.point(keys.tag(partition), items, { checkMs: CHECK_MS }),
  });
}

/** The id under which the partition of a group is found: a task may have the id of the group, and be elsewhere. */
export const groupAddress = (group: string): string => `${group}${GROUP_ADDRESS}`;
const GROUP_ADDRESS = ":group";

/** Webhooks and undos of a task ("<id>:…") are in its partition, and the webhook of a group in that of the group. */
function ownerOf(id: string): string {
  const [owner = "", ...rest] = id.split(":");
  return rest.includes("group") ? groupAddress(owner) : owner;
}

/** Some queues of one partition. */
interface QueueBatch {
  readonly tag: string;
  readonly queues: string[];
}

/** Queues by their partitions, at most so many at a time: one script over a thousand queues would block Redis. */
export function queueBatches(keys: Keys, queues: Iterable<string>, max: number): readonly QueueBatch[] {
  const batches: QueueBatch[] = [];
  /** The last batch of each partition. */
  const last = new Map<string, QueueBatch>();
  for (const queue of queues) {
    const tag = keys.tagOfQueue(queue);
    let batch = last.get(tag);
    if (batch === undefined || batch.queues.length === max) {
      batch = { tag, queues: [] };
      last.set(tag, batch);
      batches.push(batch);
    }
    batch.queues.push(queue);
  }
  return batches;
}
