import { SHARED } from "../../../src/store/constants.ts";

/** Starts are kept in sixteenths of a task of weight 1. */
const STEPS = 16;
/** A place in a fair line is its start, then the order of arrival. */
const ARRIVALS = 2 ** 20;

/** Whose share of a fair line a task takes. */
export interface ModelShare {
  readonly key: string;
  readonly weight: number;
}

/** A task that joined, and its start in sixteenths. */
export interface Start {
  readonly id: string;
  readonly step: number;
}

/** What is looked at of a task. */
interface SharingTask {
  readonly id: string;
  readonly priority: number;
  readonly share: ModelShare | null;
  readonly place: number | null;
  readonly fence: string | null;
  readonly state: string;
  /** The task of its key that joined before it. */
  before: Start | null;
}

/** What is kept of a key: what it is charged, in tasks of weight 1, and its last task in line. */
export interface ModelKey {
  charge: number;
  last: Start;
}

type Line = readonly SharingTask[];

/** Who starts when in a fair line, as docs/handlers.md has it. A key is one of a priority. */
export class Shares {
  readonly keys = new Map<string, ModelKey>();
  /** By priority the start of what was taken last. */
  readonly #time = new Map<number, number>();

  /** The start of a task that joins now. */
  startOf({ share, priority }: Pick<SharingTask, "share" | "priority">): number {
    const known = this.keys.get(memberOf(share, priority));
    return Math.max(Math.floor(this.#from(known, priority) * STEPS + 1e-6), known?.last.step ?? 0);
  }

  /** Puts a task in line; returns its place. */
  join(task: SharingTask, arrival: number): number {
    const member = memberOf(task.share, task.priority);
    const known = this.keys.get(member);
    const last = { id: task.id, step: this.startOf(task) };
    this.keys.set(member, { charge: this.#from(known, task.priority) + costOf(task), last });
    task.before = known?.last ?? null;
    return last.step * ARRIVALS + arrival;
  }

  /** How many stand before a task that joins now. */
  before(task: Pick<SharingTask, "share" | "priority">, line: Line): number {
    const place = (this.startOf(task) + 1) * ARRIVALS;
    return line.filter((t) => t.priority < task.priority || (t.priority === task.priority && (t.place ?? 0) < place))
      .length;
  }

  /** Tasks were started: time moves on, and deletes the line keys that it has passed. */
  taken(tasks: Line, line: Line): void {
    for (const { priority, place } of tasks) {
      this.#time.set(priority, Math.max(this.#now(priority), Math.floor((place ?? 0) / ARRIVALS)));
      for (const [member, key] of this.keys) {
        if (classOf(member) === priority && this.#left(key, priority) < 0) this.keys.delete(member);
      }
    }
    if (tasks.length > 0) this.#removeWhereEmpty(line);
  }

  /** A task was canceled in line, of which the rest is given: if it never started, its key is not charged. */
  canceled(task: SharingTask, line: Line, tasks: ReadonlyMap<string, SharingTask>): void {
    const member = memberOf(task.share, task.priority);
    const known = this.keys.get(member);
    if (known && task.fence === null) {
      task.before = notCanceled(task, tasks);
      if (known.last.id === task.id) known.last = task.before ?? { id: "-", step: 0 };
      known.charge = Math.max(0, known.charge - costOf(task));
      if (this.#left(known, task.priority) <= 0) this.keys.delete(member);
    }
    this.#removeWhereEmpty(line);
  }

  /** Where nobody waits nothing is kept. */
  #removeWhereEmpty(line: Line): void {
    const first = line[0]?.priority ?? Number.POSITIVE_INFINITY;
    for (const member of this.keys.keys()) if (classOf(member) < first) this.keys.delete(member);
  }

  /** How far the end of a key lies ahead, as exact as the scores of a line are. */
  #left({ charge, last }: ModelKey, priority: number): number {
    const begin = priority * SHARED.classSpan;
    return begin + Math.max(charge, last.step / STEPS) - (begin + this.#now(priority) / STEPS);
  }

  #from(known: ModelKey | undefined, priority: number): number {
    return Math.max(this.#now(priority) / STEPS, known?.charge ?? 0);
  }

  #now(priority: number): number {
    return this.#time.get(priority) ?? 0;
  }
}

const memberOf = (share: ModelShare | null, priority: number): string => `${priority} =${share?.key}`;
const classOf = (member: string): number => Number.parseInt(member, 10);
const costOf = ({ share }: SharingTask): number => 1 / (share?.weight ?? 1);

/** The last task of the same key before this one that was not canceled unstarted, as far as is known. */
function notCanceled({ before, share }: SharingTask, tasks: ReadonlyMap<string, SharingTask>): Start | null {
  for (let start = before; start !== null; ) {
    const task = tasks.get(start.id);
    const isSame = task?.share?.key === share?.key && task?.share?.weight === share?.weight;
    if (task?.state !== "canceled" || task.fence !== null || !isSame) return start;
    start = task.before;
  }
  return null;
}
