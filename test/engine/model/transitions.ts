import type { State } from "../../../src/task.ts";
import { byId, DUE_NOW, MODEL_DEAD_CAP, type ModelTask, type NewTask, newTask, UNDO_QUEUE } from "./task.ts";
import { ModelTasks } from "./tasks.ts";

/** Most errors that are kept of a task. */
const MAX_ERRORS = 5;
/** After so many uncounted losses in a row the next one counts, also with the worker of a child process. */
const MAX_UNCOUNTED = 3;
/** The error codes of tasks that time has canceled. */
const LATE_CODES = { deadline: "deadline-passed", abandoned: "abandoned" } as const;

/** What becomes of the tasks of the model when a verb, or time, changes them: they join the line, lose a worker, end, are undone. */
export class ModelTransitions extends ModelTasks {
  /** The ends that webhooks are told of, in their order. */
  readonly told: { id: string; state: State }[] = [];
  #places = 0;

  protected join(task: ModelTask): number {
    this.#places += 1;
    task.arrival = this.#places;
    return this.queue(task.queue).shares?.join(task, this.#places) ?? this.#places;
  }

  /** It keeps its arrival; in a fair line it joins anew, behind those of its key. */
  protected toPriority(task: ModelTask, priority: number): void {
    const shares = task.state === "waiting" ? this.queue(task.queue).shares : null;
    const rest = this.line(task.queue).filter((other) => other !== task);
    shares?.canceled(task, rest, this.tasks);
    Object.assign(task, { priority, class: priority });
    if (!shares) return;
    this.#places += 1;
    task.place = shares.join(task, this.#places);
  }

  protected toPlace(task: ModelTask, place: "first" | "last"): void {
    const line = this.line(task.queue);
    if (place === "last") {
      this.#places += 1;
      Object.assign(task, { class: line.at(-1)?.class, place: this.#places });
    } else if (line[0] !== task || task.class >= 0) {
      task.class = Math.min(0, line[0]?.class ?? 0) - 1;
    }
  }

  protected toTime(task: ModelTask, delayed: boolean): void {
    const { priority } = task;
    Object.assign(task, { state: "scheduled", class: priority, place: null, due: delayed ? Infinity : DUE_NOW });
  }

  protected note(task: ModelTask, error: string): void {
    task.errors = [error, ...task.errors].slice(0, MAX_ERRORS);
  }

  /** @param reported its worker lives, and says that the process of the handler died */
  protected loseWorker(
    task: ModelTask,
    result: string,
    reported: boolean,
  ): "waiting" | "released" | "dead" | "canceled" {
    const queue = this.queue(task.queue);
    const apart = task.apart === task.fence && task.uncountedLosses < MAX_UNCOUNTED;
    if (task.unreported || (!reported && (apart || task.ahead))) {
      task.uncountedLosses += 1;
      if (task.unreported) this.deleteStart(task);
      else task.restarts += 1;
      if (task.cancelRequested) return this.settle(task, "canceled");
      this.backInLine(task);
      return "released";
    }
    task.lost += 1;
    task.restarts += 1;
    task.uncountedLosses = 0;
    queue.losses += 1;
    if (task.cancelRequested) return this.settle(task, "canceled");
    if (task.lost <= queue.maxLost) {
      this.backInLine(task);
      return "waiting";
    }
    this.note(task, `the worker was lost ${task.lost} times`);
    task.errorCode = "worker-lost";
    this.bury(task, result);
    return "dead";
  }

  /** Its start no longer counts towards the rate of its queue. */
  protected deleteStart(task: ModelTask): void {
    const queue = this.queue(task.queue);
    if (task.span === queue.span) queue.starts -= 1;
  }

  /** All is as if it had not been taken. */
  protected undoReservation(task: ModelTask): "released" | "canceled" {
    this.deleteStart(task);
    this.queue(task.queue).started -= 1;
    this.backInLine(task);
    task.begun = task.begunBefore;
    if (!task.begun) task.fence = null;
    return task.cancelRequested ? this.cancelAtOnce(task) : "released";
  }

  protected backInLine(task: ModelTask): void {
    task.holds = false;
    Object.assign(task, { state: "waiting", attempts: task.attempts - 1, progress: null, lapsed: Infinity });
  }

  /** Cancels a task that is not running. */
  protected cancelAtOnce(task: ModelTask): "canceled" {
    const rest = this.line(task.queue).filter((other) => other !== task);
    if (task.state === "waiting") this.queue(task.queue).shares?.canceled(task, rest, this.tasks);
    return this.settle(task, "canceled");
  }

  protected cancelMember(task: ModelTask): void {
    if (task.state === "running") task.cancelRequested = true;
    else this.cancelAtOnce(task);
  }

  protected settle(
    task: ModelTask,
    state: "succeeded" | "failed" | "canceled",
    result: string | null = null,
  ): "canceled" {
    task.holds = false;
    Object.assign(task, { state, result, kept: "result", cancelRequested: false, progress: null, ends: null });
    if (state === "canceled") task.output = null;
    if (state === "canceled" && task.late) task.errorCode = LATE_CODES[task.late];
    if (state !== "canceled") this.#count(task, state);
    if (state !== "succeeded") this.undo(task);
    if (state !== "succeeded" || !task.undoable) {
      if (state === "succeeded" && this.queue(task.queue).dropInput) task.inputKept = false;
      // The steps of an undo are kept as long as its result: they show what the other task had done.
      if (task.queue !== UNDO_QUEUE) task.steps.clear();
    }
    if (task.webhook) this.told.push({ id: task.id, state });
    return "canceled";
  }

  protected bury(task: ModelTask, result: string): void {
    task.holds = false;
    // When exactly is the store's clock's to say: until it is asked, after all others.
    Object.assign(task, { state: "failed", result, kept: "dead", died: Infinity, progress: null, ends: null });
    task.undoneBy = this.undo(task);
    if (task.webhook) this.told.push({ id: task.id, state: "failed" });
    this.queue(task.queue).deaths += 1;
    this.#count(task, "failed");
  }

  /** Brings the dead letters within their cap, the oldest leaving first; called when it is known when each has died. */
  cap(): void {
    for (const queue of this.queues.keys()) {
      const dead = this.dead(queue).sort((a, b) => (a.died ?? 0) - (b.died ?? 0) || byId(a, b));
      for (const task of dead.slice(0, Math.max(0, dead.length - MODEL_DEAD_CAP))) {
        Object.assign(task, { died: null, inputKept: false });
        task.steps.clear();
      }
    }
  }

  #count({ queue }: ModelTask, state: "succeeded" | "failed"): void {
    const counts = this.queue(queue);
    counts.finished += 1;
    if (state === "failed") counts.failed += 1;
  }

  protected deleteTask(task: ModelTask): void {
    task.output = null;
    Object.assign(task, { deleted: true, expired: false, died: null, result: null, inputKept: false, errors: [] });
    task.steps.clear();
  }

  /** What a task has done is undone by a task of its own, which gets its steps; one that never began has done nothing. */
  protected undo(task: ModelTask): string | null {
    if (!task.undoable || !task.begun) return null;
    const plain = `${task.id}:undo:${task.queue}`;
    const id = this.tasks.has(plain) ? `${plain}:${task.fence}` : plain;
    const { caller, input, mediaType } = task;
    const undoing = this.fresh(
      {
        id,
        queue: UNDO_QUEUE,
        caller,
        priority: 3,
        input,
        mediaType,
        webhook: false,
        dated: false,
        present: false,
        share: null,
      },
      "waiting",
    );
    for (const [name, step] of task.steps) undoing.steps.set(name, step);
    task.steps.clear();
    return id;
  }

  /** What undoes a task's work is taken back as long as no worker has had it: the steps are the task's again. */
  protected takeBack(task: ModelTask, id: string): boolean {
    const undoing = this.tasks.get(id);
    if (undoing?.state !== "waiting" || undoing.begun) return false;
    this.tasks.delete(id);
    for (const [name, step] of undoing.steps) task.steps.set(name, step);
    task.undoneBy = null;
    return true;
  }

  protected fresh(s: NewTask, state: "waiting" | "scheduled"): ModelTask {
    const task = newTask(s, { state, place: null, undoable: this.queue(s.queue).undo });
    if (state === "waiting") task.place = this.join(task);
    this.tasks.set(s.id, task);
    return task;
  }
}
