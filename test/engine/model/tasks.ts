import { INLINE_BYTES } from "../../../src/store/fields.ts";
import { isOutcome, type State } from "../../../src/task.ts";
import { Shares } from "./shares.ts";
import { type ModelQueue, type ModelTask, UNDO_QUEUE } from "./task.ts";

/** How a queue is set up. */
export interface ModelRules
  extends Pick<
    ModelQueue,
    "name" | "attempts" | "maxLost" | "rate" | "undo" | "dropInput" | "keyed" | "most" | "total"
  > {
  readonly fair: boolean;
}

/** What the model holds, and what can be asked of it without changing anything. */
export class ModelTasks {
  readonly tasks = new Map<string, ModelTask>();
  readonly queues: ReadonlyMap<string, ModelQueue>;

  constructor(queues: readonly ModelRules[]) {
    this.queues = new Map(
      queues.map((q) => [
        q.name,
        {
          ...q,
          shares: q.fair ? new Shares() : null,
          paused: false,
          starts: 0,
          span: 0,
          reservations: new Map(),
          deaths: 0,
          losses: 0,
          ...{ accepted: 0, started: 0, finished: 0, failed: 0 },
        } satisfies ModelQueue,
      ]),
    );
  }

  queue(name: string): ModelQueue {
    const queue = this.queues.get(name);
    if (!queue) throw new Error(`the model has no queue ${name}`);
    return queue;
  }

  /** The line of a queue, the next first. */
  line(queue: string): ModelTask[] {
    return this.of(queue, "waiting").sort((a, b) => a.class - b.class || (a.place ?? 0) - (b.place ?? 0));
  }

  /** Those of the line that may start: all that wait for no other of their key. */
  startable(queue: string): ModelTask[] {
    const limit = this.queue(queue).keyed;
    return this.line(queue).filter(
      (task) => task.holds || task.key === null || limit === undefined || this.#before(task) < limit,
    );
  }

  /** How many more tasks of a queue may run. */
  room(queue: string): number {
    const { total = Number.POSITIVE_INFINITY } = this.queue(queue);
    return Math.max(0, total - this.of(queue, "running").length);
  }

  /** Whether as many others hold the key of a task that has not started as may. */
  isHeld(task: ModelTask): boolean {
    const limit = this.queue(task.queue).keyed;
    if (task.key === null || limit === undefined || task.holds || isOutcome(task.state)) return false;
    return this.#ofKey(task).filter((other) => other.holds).length >= limit;
  }

  /** Whether a queue refuses one more task of a key. */
  isCrowded(queue: string, key: string | null | undefined): boolean {
    const { most } = this.queue(queue);
    if (most === undefined || key === null || key === undefined) return false;
    return this.of(queue, "waiting", "scheduled", "retrying").filter((task) => task.key === key).length >= most;
  }

  /** How many of its key hold it or have waited for longer. */
  #before(task: ModelTask): number {
    const waits = (other: ModelTask) => other.state === "waiting" && other.arrival < task.arrival;
    return this.#ofKey(task).filter((other) => other.holds || waits(other)).length;
  }

  #ofKey({ queue, key, id }: ModelTask): ModelTask[] {
    return [...this.tasks.values()].filter((other) => other.queue === queue && other.key === key && other.id !== id);
  }

  /** The tasks of a queue in any of some states. */
  of(queue: string, ...states: State[]): ModelTask[] {
    return [...this.tasks.values()].filter((t) => t.queue === queue && states.includes(t.state));
  }

  /** Whether its record has only the digest of its input, which is stored beside it. */
  isApart({ id, queue, input }: ModelTask): boolean {
    // An undo stores its input as the task did whose work it undoes: `<id>:undo:<queue>`.
    const stored = queue === UNDO_QUEUE ? (id.split(":")[2] ?? queue) : queue;
    return input.length > INLINE_BYTES || this.queue(stored).dropInput;
  }

  dead(queue: string): ModelTask[] {
    return [...this.tasks.values()].filter((t) => t.queue === queue && t.died !== null);
  }

  indexOf(task: ModelTask): number | null {
    if (task.state === "running") return 0;
    return task.state === "waiting" ? this.line(task.queue).indexOf(task) : null;
  }

  task(id: string): ModelTask {
    const task = this.tasks.get(id);
    if (!task) throw new Error(`the model does not know ${id}`);
    return task;
  }
}
