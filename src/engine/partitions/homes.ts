import type { Keys } from "../../store/keys.ts";
import type { Pointer, Scripts } from "../../store/verbs/scripts.ts";
import { Batch } from "../calls/batch.ts";

/** Of how many tasks at most it is remembered that they are not in the partition of their id. */
const REMEMBERED = 100_000;
/** After this time it is first checked whether there is a task where a note says so: its submission has long come to an end, ms. */
const CHECK_MS = 600_000;
/** How often it is checked after that as long as the task has not ended, ms; then once more, when what is left of it goes. */
const NEXT_MS = 3_600_000;
/** Most submissions whose answers were lost that are remembered. */
const DOUBTS_MOST = 10_000;

/** A submission whose answer was lost. */
interface Doubt {
  readonly pointer: Pointer;
  /** If it has made the note: what that is forgotten by. */
  readonly score: string | undefined;
  /** On its connection: what is sent there now arrives after it. */
  readonly scripts: Scripts;
}

/**
 * The partitions of tasks: that of their id, but the tasks of a keyed queue are all in that of the queue, since one script must decide
 * about all of a key. The partition of the id then has a note where the task is.
 */
export class Homes {
  readonly #keys: Keys;
  readonly #scripts: Scripts;
  readonly #notes: Batch<string, number | null>;
  readonly #lifetimes: Batch<string, number>;
  /** By id; only those that are elsewhere. The latest ones are the last. */
  readonly #known = new Map<string, number>();
  readonly #doubts = new Set<Doubt>();

  constructor(scripts: Scripts, keys: Keys) {
    this.#keys = keys;
    this.#scripts = scripts;
    this.#notes = new Batch({ send: (partition, ids) => scripts.home(keys.tag(partition), ids) });
    this.#lifetimes = new Batch({ send: (partition, ids) => scripts.lifetimes(keys.tag(partition), ids) });
  }

  /** Where a task is, as far as this process knows: {@link at} finds it anyway. */
  of(id: string): number {
    if (this.#known.size === 0) return this.#keys.partitionOf(id);
    return this.#known.get(ownerOf(id)) ?? this.#keys.partitionOf(id);
  }

  /** A task was met in a partition. */
  note(id: string, partition: number): void {
    if (this.#keys.partitions === 1) return;
    const owner = ownerOf(id);
    this.#known.delete(owner);
    if (partition === this.#keys.partitionOf(id)) return;
    this.#known.set(owner, partition);
    if (this.#known.size > REMEMBERED) {
      for (const oldest of this.#known.keys()) return void this.#known.delete(oldest);
    }
  }

  /** Where a task is according to the partition of its id. @throws PaihaoError store-unavailable */
  async find(id: string): Promise<number> {
    const partition = this.#keys.partitionOf(id);
    const home = (await this.#notes.add(partition, ownerOf(id))) ?? partition;
    this.note(id, home);
    return home;
  }

  /** The same if the task is not where this process thought, which was not the partition of its id; else null. */
  async findUnless(id: string, partition: number): Promise<number | null> {
    if (partition === this.#keys.partitionOf(id)) return null;
    const home = await this.find(id);
    return home === partition ? null : home;
  }

  /**
   * Calls a verb where the task is.
   * @param isAbsent whether an answer may mean that the task is in another partition
   */
  at<Answer>(
    id: string,
    call: (partition: number) => Promise<Answer>,
    isAbsent: (answer: Answer) => boolean,
  ): Promise<Answer> {
    if (this.#keys.partitions === 1) return call(0);
    const partition = this.of(id);
    // No async function: this runs for the end of every task.
    return call(partition).then((answer) => (isAbsent(answer) ? this.#elsewhere(id, partition, answer, call) : answer));
  }

  async #elsewhere<Answer>(
    id: string,
    partition: number,
    answer: Answer,
    call: (partition: number) => Promise<Answer>,
  ): Promise<Answer> {
    const home = await this.find(id);
    return home === partition ? answer : await call(home);
  }

  /** A task was refused: the note of its submission is forgotten, unless the id was submitted again meanwhile. */
  async refused(id: string, score: string): Promise<void> {
    this.#known.delete(ownerOf(id));
    const tag = this.#keys.tag(this.#keys.partitionOf(id));
    // What fails here is done by `check`.
    await this.#scripts.repoint(tag, [{ id, score, nextMs: null }], { limit: 0 }).catch(() => undefined);
  }

  /** It is not known whether a submission was stored: {@link check} finds out. */
  doubt(doubt: Doubt): void {
    if (this.#doubts.size < DOUBTS_MOST) this.#doubts.add(doubt);
  }

  /**
   * Checks the notes of a partition whose submissions are in doubt, and some that are due, and forgets those without a task. Returns
   * whether there may be more.
   * @throws PaihaoError store-unavailable
   */
  async check(partition: number): Promise<boolean> {
    await this.#settleDoubts(partition);
    const tag = this.#keys.tag(partition);
    const due = await this.#scripts.repoint(tag, []);
    if (due.length === 0) return false;
    const checked = due.map(async ({ id, score, home }) => {
      const leftMs = home === null ? 0 : await this.#lifetimes.add(home, id);
      return { id, score, nextMs: leftMs === 0 ? null : Number.isFinite(leftMs) ? leftMs : NEXT_MS };
    });
    await this.#scripts.repoint(tag, await Promise.all(checked), { limit: 0 });
    return true;
  }

  /** Makes the notes of a partition agree with what was stored. @throws PaihaoError store-unavailable */
  async #settleDoubts(partition: number): Promise<void> {
    const doubts = [...this.#doubts].filter(({ pointer }) => this.#keys.partitionOf(pointer.id) === partition);
    for (const doubt of doubts) {
      const { pointer, score, scripts } = doubt;
      const { id, home } = pointer;
      const [leftMs] = await scripts.lifetimes(this.#keys.tag(home), [id]);
      // The store may have lost the note before it got the task.
      if (leftMs !== 0) await this.#scripts.point(this.#keys.tag(partition), [pointer], CHECK_MS);
      else if (score !== undefined) await this.refused(id, score);
      this.#doubts.delete(doubt);
    }
  }
}

/** Notes, in the partitions of their ids, where tasks will be: the calls of one turn of the event loop travel together. */
export function pointerBatch(scripts: Scripts, keys: Keys) {
  return new Batch({
    send: (partition: number, items: readonly Pointer[]) => scripts.point(keys.tag(partition), items, CHECK_MS),
  });
}

/** What follows from a task ("<id>:…") is in its partition. */
function ownerOf(id: string): string {
  const end = id.indexOf(":");
  return end < 0 ? id : id.slice(0, end);
}
