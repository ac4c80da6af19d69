import type { CancelVerdict, MoveVerdict, RetryVerdict } from "../../../src/store/task/actions.ts";
import type { StepVerdict, WriteAnswer } from "../../../src/store/task/attempt.ts";
import type { CompleteVerdict } from "../../../src/store/task/complete.ts";
import type { FailKind, FailVerdict } from "../../../src/store/task/fail.ts";
import type { LoseVerdict } from "../../../src/store/task/lease.ts";
import type { SubmitVerdict, UpdateVerdict } from "../../../src/store/task/submit.ts";
import { isOutcome, type State } from "../../../src/task.ts";
import { ModelGroups } from "./groups.ts";
import { playStep, type StepCall } from "./step.ts";
import {
  byId,
  DUE_NOW,
  type LateVerdict,
  LONG_AGO,
  MODEL_OUTPUT_BYTES,
  type ModelLease,
  type ModelMove,
  type ModelSubmission,
  type ModelTask,
  type RenewVerdict,
  stopOf,
} from "./task.ts";
import { ModelTransitions } from "./transitions.ts";

const SCHEDULED = { state: "scheduled", index: null } as const;

/** The engine as its promises have it: maps and arrays, no Redis, no clock. Every verb answers what the engine must answer. */
export class Model extends ModelTransitions {
  readonly groups = new ModelGroups(this.tasks);
  #takings = 0;

  submit(s: ModelSubmission): { verdict: SubmitVerdict; state: State | null; index: number | null } {
    const known = this.tasks.get(s.id);
    if (known && !s.dryRun) {
      const same = known.input === s.input && known.mediaType === s.mediaType;
      const verdict =
        known.caller !== s.caller ? "foreign" : known.queue !== s.queue ? "elsewhere" : same ? "replay" : "conflict";
      return { verdict, state: known.state, index: this.indexOf(known) };
    }
    const line = this.line(s.queue);
    const { shares } = this.queue(s.queue);
    const index = shares && !s.delayed ? shares.before(s, line) : line.filter((t) => t.class <= s.priority).length;
    const crowded = { verdict: "too-many", state: null, index: null } as const;
    const isCrowded = !known && this.isCrowded(s.queue, s.key);
    if (s.dryRun && isCrowded) return crowded;
    if (s.dryRun) return { verdict: "dry", ...(s.delayed ? SCHEDULED : { state: "waiting", index }) };
    if (s.group !== undefined && !this.groups.isOpen(s.group)) return { verdict: "closed", state: null, index: null };
    if (this.of(s.queue, "waiting", "scheduled", "retrying").length >= s.limit) {
      return { verdict: "full", state: null, index: null };
    }
    if (isCrowded) return crowded;
    if (s.maxIndex !== null && index > s.maxIndex && !s.delayed) return { verdict: "long", state: null, index };
    this.queue(s.queue).keyed = s.concurrency;
    this.queue(s.queue).accepted += 1;
    const task = this.fresh(s, s.delayed ? "scheduled" : "waiting");
    this.groups.joined(task);
    return { verdict: "new", state: task.state, index: this.indexOf(task) };
  }

  update(id: string, input: string, mediaType: string, key: string | null): UpdateVerdict | "too-many" {
    const task = this.tasks.get(id);
    if (!task) return "unknown";
    if ((task.state !== "waiting" && task.state !== "scheduled") || task.begun) return "conflict";
    if (key !== task.key && this.isCrowded(task.queue, key)) return "too-many";
    Object.assign(task, { input, mediaType });
    if (this.queue(task.queue).keyed !== undefined) task.key = key;
    // What a dead task kept of its steps until it was retried belongs to the input that is gone.
    task.steps.clear();
    return this.#answered(id, "updated");
  }

  /** The order of all other tasks stays. */
  move(id: string, to: ModelMove): MoveVerdict {
    const task = this.tasks.get(id);
    if (!task) return "unknown";
    const waits = task.state === "waiting";
    if ((!waits && task.state !== "scheduled") || (to.place && !waits)) return "not-waiting";
    const hasOrder = task.share !== null || this.queue(task.queue).keyed !== undefined;
    if (waits && hasOrder && to.priority === undefined) return "ordered";
    if (to.delayed !== undefined && task.deadline !== null && task.deadline < Infinity) return "late";
    if (to.priority !== undefined) this.toPriority(task, to.priority);
    else if (to.place) this.toPlace(task, to.place);
    else if (to.delayed || !waits) this.toTime(task, to.delayed === true);
    return this.#answered(id, "moved");
  }

  /** The tasks handed out; their fences are the store's to choose: see {@link fenced}. */
  reserve(
    queue: string,
    worker: string,
    lane: number,
    reservation: string,
    count: number,
    { reports, ahead }: { readonly reports: boolean; readonly ahead: boolean },
  ): { ids: string[]; waiting: number | null } {
    const q = this.queue(queue);
    const last = q.reservations.get(`${worker} ${lane}`);
    if (last?.reservation === reservation) {
      const held = [...last.takings.keys()].filter((id) => {
        const task = this.tasks.get(id);
        return task?.state === "running" && task.taking === last.takings.get(id);
      });
      for (const id of held) this.task(id).lapsed = Infinity;
      return { ids: held, waiting: this.line(queue).length };
    }
    if (q.paused) return { ids: [], waiting: null };
    const room = Math.min(count, this.room(queue));
    const allowed = q.rate ? Math.min(room, q.rate.max - q.starts) : room;
    const isFull = room < count && allowed === room;
    const taken = this.startable(queue).slice(0, allowed);
    for (const task of taken) {
      Object.assign(task, { state: "running", worker, lapsed: Infinity, attempts: task.attempts + 1 });
      Object.assign(task, { begun: true, begunBefore: task.begun, ahead, span: q.rate ? q.span : null });
      task.holds = true;
      task.unreported = reports && (task.lost > 0 || task.uncountedLosses > 0);
      this.#takings += 1;
      task.taking = this.#takings;
    }
    const ids = taken.map((task) => task.id);
    q.shares?.taken(taken, this.line(queue));
    q.starts += ids.length;
    q.started += ids.length;
    const takings = new Map(taken.map((task) => [task.id, task.taking]));
    if (ids.length > 0) q.reservations.set(`${worker} ${lane}`, { reservation, takings });
    // Where as many run as may, whoever ends one says when there is more.
    return { ids, waiting: isFull ? 0 : this.startable(queue).length };
  }

  fenced(id: string, fence: string): void {
    this.task(id).fence = fence;
  }

  renew(lease: ModelLease): RenewVerdict {
    const task = this.#held(lease);
    if (!task) return "stale";
    Object.assign(task, { lapsed: Infinity, ahead: false });
    return stopOf(task) ?? "ok";
  }

  complete(lease: ModelLease, result: string): CompleteVerdict {
    const refusal = this.#refusal(lease);
    if (refusal) return refusal;
    const task = this.task(lease.id);
    if (task.cancelRequested) return this.settle(task, "canceled");
    this.settle(task, "succeeded", result);
    return "done";
  }

  fail(lease: ModelLease, kind: FailKind, options: { delayed: boolean; error: string; result: string }): FailVerdict {
    return this.#once(lease, "fail", () => this.#refusal(lease) ?? this.#fail(this.task(lease.id), kind, options));
  }

  #fail(
    task: ModelTask,
    kind: FailKind,
    options: { delayed: boolean; error: string; result: string },
  ): "retrying" | "failed" | "dead" | "canceled" {
    if (task.cancelRequested) return this.settle(task, "canceled");
    const { attempts } = this.queue(task.queue);
    if (kind === "later" || (kind === "retry" && task.attempts < attempts)) {
      if (kind === "later" && task.unreported) this.deleteStart(task);
      if (kind === "later") task.attempts -= 1;
      else this.note(task, options.error);
      task.restarts += 1;
      task.holds = this.queue(task.queue).keyed === 1 && this.queue(task.queue).most === undefined;
      Object.assign(task, { state: "retrying", due: options.delayed ? Infinity : DUE_NOW, progress: null });
      return "retrying";
    }
    this.note(task, options.error);
    task.errorCode = "task-failed";
    if (kind === "give-up") {
      this.settle(task, "failed", options.result);
      return "failed";
    }
    this.bury(task, options.result);
    return "dead";
  }

  release(lease: ModelLease, unbegun: boolean): "released" | "canceled" | "stale" {
    return this.#once(lease, "release", () => this.#release(lease, unbegun));
  }

  #release(lease: ModelLease, unbegun: boolean): "released" | "canceled" | "stale" {
    const task = this.#held(lease);
    if (!task) return "stale";
    if (unbegun) return this.undoReservation(task);
    if (task.cancelRequested) return this.settle(task, "canceled");
    this.backInLine(task);
    task.restarts += 1;
    return "released";
  }

  begin(lease: ModelLease, apart: boolean): RenewVerdict {
    const task = this.#held(lease);
    if (!task) return "stale";
    const stop = stopOf(task);
    if (stop) return stop;
    if (apart) task.apart = task.fence;
    if ((task.unreported || task.ahead) && !apart) task.uncountedLosses = 0;
    Object.assign(task, { unreported: false, ahead: false });
    task.lapsed = Infinity;
    return "ok";
  }

  lose(lease: ModelLease, result: string): LoseVerdict {
    return this.#once(lease, "lose", () => {
      const task = this.#held(lease);
      return task ? this.loseWorker(task, result, true) : "stale";
    });
  }

  cancel(id: string): CancelVerdict {
    const task = this.tasks.get(id);
    if (!task) return "unknown";
    if (task.state === "running") {
      task.cancelRequested = true;
      return this.#answered(id, "requested");
    }
    if (!isOutcome(task.state)) return this.#answered(id, this.cancelAtOnce(task));
    if (task.state === "canceled" || task.deleted || task.expired) return "already";
    // A failed one was undone when it failed.
    if (task.state === "succeeded") this.undo(task);
    this.deleteTask(task);
    return this.#answered(id, "deleted");
  }

  cancelGroup(id: string, order: readonly string[]): "canceled" | "ended" | "unknown" {
    const members = this.groups.cancel(id, order);
    if (typeof members === "string") return members;
    for (const task of members) this.cancelMember(task);
    return "canceled";
  }

  retry(id: string): RetryVerdict {
    const task = this.tasks.get(id);
    if (!task) return "unknown";
    if (task.died === null || !task.inputKept) return "not-dead";
    const stands = task.undoneBy !== null;
    if (task.undoneBy !== null && !this.takeBack(task, task.undoneBy)) return "undone";
    task.class = task.priority;
    Object.assign(task, {
      state: "waiting",
      place: this.join(task),
      attempts: 0,
      lost: 0,
      uncountedLosses: 0,
      errors: [],
    });
    task.restarts += 1;
    Object.assign(task, {
      errorCode: null,
      result: null,
      kept: null,
      died: null,
      expired: false,
      deadline: null,
      present: false,
    });
    task.output ??= [];
    // What it has done and has not been undone stays its own: it has begun.
    if (!stands) Object.assign(task, { begun: false, fence: null });
    return this.#answered(id, "waiting");
  }

  deleteDead(queue: string): number {
    const dead = this.dead(queue);
    for (const task of dead) this.deleteTask(task);
    return dead.length;
  }

  progress(lease: ModelLease, progress: string): "ok" | "stale" {
    const task = this.#held(lease);
    if (task) task.progress = progress;
    return task ? "ok" : "stale";
  }

  /** How many of the values are kept; those that do not fit, and all behind them, are refused. */
  write(lease: ModelLease, values: readonly string[], all: boolean): WriteAnswer {
    const task = this.#held(lease);
    if (!task?.output) return "stale";
    let bytes = task.output.reduce((sum, { json }) => sum + json.length, 0);
    const over = values.findIndex((json) => {
      bytes += json.length;
      return bytes > MODEL_OUTPUT_BYTES;
    });
    const fit = over < 0 ? values : values.slice(0, all ? 0 : over);
    task.output.push(...fit.map((json) => ({ run: task.restarts + 1, attempt: task.attempts, json })));
    return fit.length;
  }

  step(lease: ModelLease, call: StepCall): StepVerdict {
    const task = this.#held(lease);
    return task ? playStep(task, call) : "stale";
  }

  /**
   * What time has brought: returns how many joined the line, and the losses.
   * @param lostBy before when leases must have ended to be lost: after a gap only those count that had ended before it
   * @param first queues in the order in which the engine came to their losses, and `firstLate` to their deadlines: which one is first changes every millisecond and is no
   *   promise, but it decides in which order their undos join the line
   * @param order the members of groups, in the order in which they are canceled together
   */
  tick(
    result: string,
    lostBy: number,
    first: readonly string[],
    firstLate: readonly string[],
    order: readonly string[],
  ): { promoted: number; lost: { id: string; losses: number; outcome: LoseVerdict }[]; late: LateVerdict[] } {
    const late = [...new Set([...firstLate, ...this.queues.keys()])].flatMap((queue) => this.#passEnds(queue, lostBy));
    let promoted = 0;
    const lost: { id: string; losses: number; outcome: LoseVerdict }[] = [];
    for (const queue of new Set([...first, ...this.queues.keys()])) {
      const due = this.of(queue, "scheduled", "retrying").filter((task) => task.due < Infinity);
      for (const task of due.sort((a, b) => a.due - b.due || byId(a, b))) {
        task.place ??= this.join(task);
        Object.assign(task, { state: "waiting", due: Infinity });
        promoted += 1;
      }
      const running = this.of(queue, "running");
      const lapsed = running.filter((task) => task.lapsed < lostBy);
      // The others go on for half of their time.
      for (const task of running) if (task.lapsed >= lostBy) task.lapsed = Infinity;
      for (const task of lapsed.sort((a, b) => a.lapsed - b.lapsed || byId(a, b))) {
        lost.push({ id: task.id, outcome: this.loseWorker(task, result, false), losses: task.lost });
      }
      for (const task of this.dead(queue)) if (task.died === LONG_AGO) task.died = null;
    }
    for (const task of this.groups.abandoned(order)) {
      task.late = "abandoned";
      this.cancelMember(task);
    }
    return { promoted, lost, late };
  }

  /** A look keeps a task until its deadline at the latest. */
  attend(id: string): void {
    const task = this.tasks.get(id);
    if (task?.group) this.groups.looked(task.group);
    if (task?.present && task.ends !== null) task.ends = task.deadline ?? Infinity;
  }

  /** What has not ended by its deadline is canceled, as by a caller, and so is what nobody has looked at; but not after a gap. */
  #passEnds(queue: string, lostBy: number): LateVerdict[] {
    const due = [...this.tasks.values()].filter((t) => t.queue === queue && t.ends !== null && t.ends < Infinity);
    const tasks = due.map((task) => ({
      ...{ id: task.id, ends: task.ends ?? 0 },
      pass: () => this.#passEnd(task, lostBy),
    }));
    const groups = this.groups.due(queue).map(({ id, ends }) => ({
      ...{ id: `${id}:group`, ends },
      pass: () => this.groups.passAbsence(id, lostBy),
    }));
    return [...tasks, ...groups].sort((a, b) => a.ends - b.ends || byId(a, b)).flatMap(({ pass }) => pass());
  }

  #passEnd(task: ModelTask, lostBy: number): LateVerdict[] {
    const reason = task.deadline !== null && task.deadline < Infinity ? "deadline" : "abandoned";
    if (reason === "abandoned" && (task.ends ?? 0) >= lostBy) {
      task.ends = Infinity;
      return [];
    }
    const late = task.cancelRequested ? task.late : reason;
    Object.assign(task, { ends: null, late, cancelRequested: true });
    return [{ id: task.id, verdict: task.state === "running" ? "requested" : this.cancelAtOnce(task), reason }];
  }

  /** A call on a lease that changed its task is answered the same when it is made again. */
  #once<V extends string>({ id, fence }: ModelLease, verb: string, act: () => V): V {
    const call = `${verb} ${fence}`;
    const task = this.tasks.get(id);
    const known = task?.answers.find(([of]) => of === call);
    if (known) return known[1] as V;
    const verdict = act();
    if (!["unknown", "stale", "already"].includes(verdict)) this.#answered(id, verdict, call);
    return verdict;
  }

  #answered<V extends string>(id: string, verdict: V, call = ""): V {
    const task = this.task(id);
    task.answers = [[call, verdict] as const, ...task.answers].slice(0, 3);
    return verdict;
  }

  #held({ id, fence }: ModelLease): ModelTask | undefined {
    const task = this.tasks.get(id);
    return task?.state === "running" && task.fence === fence ? task : undefined;
  }

  #refusal({ id, fence }: ModelLease): "unknown" | "stale" | "already" | undefined {
    const task = this.tasks.get(id);
    if (!task) return "unknown";
    if (task.fence !== fence) return "stale";
    if (task.state === "running") return undefined;
    return isOutcome(task.state) ? "already" : "stale";
  }
}
