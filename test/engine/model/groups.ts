import type { MemberCounts } from "../../../src/extras/groups/verbs.ts";
import { isOutcome, type State } from "../../../src/task.ts";
import type { Group } from "../../../src/wire/group.ts";
import type { ModelTask } from "./task.ts";

/** A group as the model has it. */
interface ModelGroup {
  closed: boolean;
  canceled: boolean;
  /** When it is canceled unless somebody looks at it or a member; Infinity for a time to come, null for never. */
  ends: number | null;
  /** Its members are to be canceled because nobody has looked. */
  abandoned: boolean;
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

  open(id: string, present: boolean): "open" | "closed" {
    const fresh = { closed: false, canceled: false, ends: null, abandoned: false, gone: new Map<string, State>() };
    const group = this.#groups.get(id) ?? fresh;
    this.#groups.set(id, group);
    if (!group.closed && (present || group.ends !== null)) group.ends = Infinity;
    return group.closed ? "closed" : "open";
  }

  isPresent(id: string): boolean {
    return this.#group(id).ends !== null;
  }

  /** Somebody looks at it or at a member, or nobody has since a time that is past. */
  looked(id: string, ends = Infinity): void {
    if (this.isPresent(id)) this.#group(id).ends = ends;
  }

  /** A tick will have something to do with it. */
  isTimed(id: string): boolean {
    return this.isOpen(id) || this.isPresent(id);
  }

  /** The groups of a queue, and when each is canceled. */
  due(queue: string): { id: string; ends: number }[] {
    const id = `group-${queue}`;
    const ends = this.#groups.get(id)?.ends ?? Infinity;
    return ends < Infinity ? [{ id, ends }] : [];
  }

  /** Nobody has looked for too long: what has not ended of it is canceled at the end of the tick; but not after a gap. */
  passAbsence(id: string, lostBy: number): [] {
    const group = this.#group(id);
    const ended = this.stateOf(id) === "done";
    if (!ended && (group.ends ?? 0) >= lostBy) group.ends = Infinity;
    else if (!ended) Object.assign(group, { closed: true, canceled: true, abandoned: true, ends: null });
    return [];
  }

  /** Returns the members to cancel of those that were abandoned in this tick, of those in an order. */
  abandoned(order: readonly string[]): ModelTask[] {
    const ids = this.ids.filter((id) => this.#group(id).abandoned);
    for (const id of ids) {
      this.#group(id).abandoned = false;
      if (this.isEmpty(id)) this.#groups.delete(id);
    }
    const waits = (of: string) => this.#tasks.get(of)?.state === "waiting";
    const inLine = order.filter(waits).sort();
    const members = [...inLine, ...order.filter((of) => !waits(of))];
    return ids.flatMap((id) => this.#pending(id, members));
  }

  /** When one has ended, it has no presence any more. */
  leavePresence(): void {
    for (const id of this.ids) if (!["open", "pending"].includes(this.stateOf(id))) this.#group(id).ends = null;
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
    Object.assign(group, { closed: true, canceled: true, ends: null });
    return this.#pending(id, order);
  }

  /** The members that have not ended and whose cancel is not requested. */
  #pending(id: string, order: readonly string[]): ModelTask[] {
    return order.flatMap((of) => {
      const task = this.#tasks.get(of);
      return task?.group === id && !isOutcome(task.state) && !task.cancelRequested ? [task] : [];
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
