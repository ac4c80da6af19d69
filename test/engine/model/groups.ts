import type { MemberCounts } from "../../../src/store/verbs/scripts.ts";
import { isOutcome, type State } from "../../../src/task.ts";
import type { Group } from "../../../src/wire/group.ts";
import type { ModelTask } from "./task.ts";

/** A group as the model has it. */
interface ModelGroup {
  closed: boolean;
  canceled: boolean;
  /** How members ended whose records have gone. */
  readonly gone: Map<string, State>;
}

/** All groups: each of one queue, of whoever has no key. */
export class ModelGroups {
  readonly #tasks: ReadonlyMap<string, ModelTask>;
  readonly #groups = new Map<string, ModelGroup>();

  constructor(tasks: ReadonlyMap<string, ModelTask>) {
    this.#tasks = tasks;
  }

  get ids(): readonly string[] {
    return [...this.#groups.keys()];
  }

  open(id: string): "open" | "closed" {
    const group = this.#groups.get(id) ?? { closed: false, canceled: false, gone: new Map() };
    this.#groups.set(id, group);
    return group.closed ? "closed" : "open";
  }

  isOpen(id: string): boolean {
    return this.#groups.get(id)?.closed === false;
  }

  /** Without members it is as if it had never been. */
  close(id: string): void {
    const group = this.#groups.get(id);
    if (group && this.isEmpty(id)) this.#groups.delete(id);
    else if (group) group.closed = true;
  }

  /** Whether it has had no members yet. */
  isEmpty(id: string): boolean {
    return this.#members(id).length === 0 && this.#group(id).gone.size === 0;
  }

  /** Returns the members to cancel, of those in an order; or the verdict if there is nothing to do. */
  cancel(id: string, order: readonly string[]): ModelTask[] | "canceled" | "ended" | "unknown" {
    const group = this.#groups.get(id);
    if (!group || this.isEmpty(id)) return "unknown";
    if (this.stateOf(id) === "done") return "ended";
    if (this.stateOf(id) === "canceled") return "canceled";
    Object.assign(group, { closed: true, canceled: true });
    const pending = (task: ModelTask | undefined) =>
      task?.group === id && !isOutcome(task.state) && !task.cancelRequested;
    return order.flatMap((of) => {
      const task = this.#tasks.get(of);
      return task && pending(task) ? [task] : [];
    });
  }

  /** A new task: if it is a member, its group forgets an earlier one with its id. */
  joined({ id, group }: ModelTask): void {
    if (group !== null) this.#group(group).gone.delete(id);
  }

  /** The record of a task has gone. */
  left({ id, group, state }: ModelTask): void {
    if (group !== null) this.#group(group).gone.set(id, state);
  }

  countsOf(id: string): MemberCounts {
    const counts = { waiting: 0, scheduled: 0, retrying: 0, running: 0, succeeded: 0, failed: 0, canceled: 0 };
    for (const { state } of this.#members(id)) counts[state] += 1;
    for (const state of this.#group(id).gone.values()) counts[state] += 1;
    return counts;
  }

  stateOf(id: string): Group["state"] {
    const { closed, canceled } = this.#group(id);
    if (!closed) return "open";
    if (this.#members(id).some(({ state }) => !isOutcome(state))) return "pending";
    return canceled ? "canceled" : "done";
  }

  #members(id: string): ModelTask[] {
    return [...this.#tasks.values()].filter(({ group }) => group === id);
  }

  #group(id: string): ModelGroup {
    const group = this.#groups.get(id);
    if (!group) throw new Error(`no group ${id}`);
    return group;
  }
}
