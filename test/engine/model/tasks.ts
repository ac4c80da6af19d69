import type { State } from "../../../src/task.ts";
import type { ModelQueue, ModelTask } from "./task.ts";

/** What the model holds, and what can be asked of it without changing anything. */
export class ModelTasks {
  readonly tasks = new Map<string, ModelTask>();
  readonly queues: ReadonlyMap<string, ModelQueue>;

  constructor(queues: readonly Pick<ModelQueue, "name" | "attempts" | "maxLost" | "rate" | "undo">[]) {
    this.queues = new Map(
      queues.map((q) => [
        q.name,
        { ...q, paused: false, starts: 0, reservations: new Map(), deaths: 0, losses: 0 } satisfies ModelQueue,
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
    return this.of(queue, "waiting").sort((a, b) => a.priority - b.priority || (a.place ?? 0) - (b.place ?? 0));
  }

  /** The tasks of a queue in any of some states. */
  of(queue: string, ...states: State[]): ModelTask[] {
    return [...this.tasks.values()].filter((t) => t.queue === queue && states.includes(t.state));
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
