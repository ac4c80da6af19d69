import type { HandlerEnd } from "../../engine/attempt/attempt-end.ts";
import type { QueueSettings } from "../../engine/settings.ts";
import { messageOf } from "../../errors.ts";
import type { Handler } from "../../handler/define.ts";
import type { Logger } from "../../log.ts";
import type { ReservedTask } from "../../store/verbs/scripts.ts";
import type { Attempt, HowSuspectRuns } from "../attempt/attempt.ts";
import type { HandlerLimits } from "../attempt/task-context.ts";
import { mayRunAmongSuspects, mayRunBesideOthers } from "../suspects.ts";
import { openChild } from "./child-port.ts";
import type { Executor } from "./executor.ts";
import { errorRecord } from "./handler-end.ts";
import { Sandbox } from "./sandbox.ts";

/** Maximum number of child processes; further suspects wait for one of them. */
const MAX_CHILDREN = 8;
/** Maximum number of suspects that wait in one process: other processes may run the rest sooner, even if this one dies. */
const MAX_WAITING = 8;
/** How long unused children are kept, ms. */
const IDLE_MS = 60_000;
/** Pause before a suspect is retried if no process could be started for it, ms. */
const BROKEN_MS = 5000;
/** After this many failures in a row to start a process, an attempt of each waiting suspect fails. */
const MAX_FAILURES = 3;
/** How long a suspect that may run without a child waits for one, ms: most starts take half of that. */
const PATIENCE_MS = 800;

/** How a suspect may run without a child. */
type Otherwise = Exclude<HowSuspectRuns, "in a child">;

/** Where a suspect runs: in a child, or in its worker. */
type Location = Sandbox | Otherwise;

/** A waiting suspect. */
interface WaitingSuspect {
  readonly attempt: Attempt;
  /** How it runs if no child is free; undefined while it waits for one. */
  otherwise: Otherwise | undefined;
  done(location: Location | HandlerEnd): void;
}

/** The options of {@link Children}. */
interface ChildrenOptions {
  readonly handlersDir: string;
  readonly limits: HandlerLimits;
  readonly log: Logger;
  /** Where other tasks of the queue run. */
  usual(task: ReservedTask, queue: string): Executor;
}

/**
 * Runs suspects (tasks that have lost a worker) in child processes, one at a time in each: a suspect that kills its process again is known,
 * and takes nothing else with it. Children are reused; only a suspect that would be dead after another loss gets an unused child, so that
 * leftovers of others cannot cause that loss. If no child is free in time, a suspect runs in its worker: see suspects.ts.
 */
export class Children implements Executor {
  readonly #options: ChildrenOptions;
  readonly #idle: Sandbox[] = [];
  readonly #all = new Set<Sandbox>();
  readonly #waiting: WaitingSuspect[] = [];
  #starting = false;
  /** How many starts in a row have failed. */
  #failures = 0;
  #stopped = false;
  #idleTimer: NodeJS.Timeout | undefined;
  /** Until when suspects that may run beside others do not wait for a child, monotonic ms. */
  #vainUntil = 0;

  constructor(options: ChildrenOptions) {
    this.#options = options;
  }

  /** Whether another suspect may wait here. */
  admits(task: ReservedTask, settings: QueueSettings): boolean {
    const max = MAX_WAITING + (mayRunBesideOthers(task, settings) ? settings.concurrency : 0);
    return this.#waiting.length < max;
  }

  /** Keeps one child ready for suspects that may arrive. */
  warm(): void {
    if (this.#stopped) return;
    if (this.#all.size === 0) void this.#start();
    else this.#keepIdle();
  }

  async execute(attempt: Attempt, handler: Handler): Promise<HandlerEnd> {
    const location = await this.#turn(attempt);
    if (typeof location === "object" && !(location instanceof Sandbox)) return location;
    const { task } = attempt;
    try {
      await attempt.report(location !== "beside others");
      if (attempt.aborted !== undefined) return { kind: "overdue" };
      if (!(location instanceof Sandbox))
        return await this.#options.usual(task, handler.queue).execute(attempt, handler);
      // It died before the handler began, so that was not the cause.
      if (!location.alive) return { kind: "later", afterMs: 0 };
      return await location.run(attempt);
    } catch (error) {
      attempt.log.warn({ reason: messageOf(error) }, "sandbox: the handler could not begin; the task is retried later");
      return { kind: "later", afterMs: BROKEN_MS };
    } finally {
      if (location instanceof Sandbox) this.#giveBack(location);
    }
  }

  /** Whether suspects wait, for a child or for a slot. */
  get waited(): boolean {
    return this.#waiting.length > 0;
  }

  /** A slot of some queue is free: a suspect may be waiting for it. */
  slotFreed(): void {
    if (this.waited) this.#assign();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#idleTimer);
    await Promise.all([...this.#all].map((sandbox) => sandbox.kill()));
  }

  /** Waits for a child and a slot, and claims both together, so that it never blocks one of them for others. */
  #turn(attempt: Attempt): Promise<Location | HandlerEnd> {
    return new Promise((resolve) => {
      const otherwise = otherwiseOf(attempt);
      const hasty = this.#isHasty(attempt.task, otherwise) || this.#waiting.length >= MAX_WAITING;
      let patience: NodeJS.Timeout | undefined;
      const done = (location: Location | HandlerEnd) => {
        clearTimeout(patience);
        resolve(location);
      };
      const waiting: WaitingSuspect = { attempt, otherwise: hasty ? otherwise : undefined, done };
      this.#waiting.push(waiting);
      if (otherwise !== undefined && !hasty) {
        patience = setTimeout(() => {
          waiting.otherwise = otherwise;
          this.#assign();
        }, PATIENCE_MS);
      }
      // Nothing has begun.
      attempt.whenAborted(() => {
        const at = this.#waiting.indexOf(waiting);
        if (at >= 0) this.#waiting.splice(at, 1);
        done({ kind: "overdue" });
      });
      // Wait until the tasks that arrived with it have their slots.
      queueMicrotask(() => this.#assign());
    });
  }

  /** Whether a suspect should not wait for a child, since workers die while suspects wait in them. */
  #isHasty({ uncountedLosses }: ReservedTask, otherwise: Otherwise | undefined): boolean {
    if (uncountedLosses > 0) this.#vainUntil = performance.now() + IDLE_MS;
    // One that must not run beside others again only believes in what it has seen itself: others may have died by it.
    return uncountedLosses > 0 || (otherwise === "beside others" && performance.now() < this.#vainUntil);
  }

  /** Lets waiting suspects begin, in order where they can, and starts a child if they need one. */
  #assign(): void {
    for (const sandbox of [...this.#idle]) if (!sandbox.alive) this.#end(sandbox);
    // Those that need the whole process come last: while they wait for it, no other may begin.
    const inTurn = this.#waiting.toSorted((a, b) => Number(needsProcess(a)) - Number(needsProcess(b)));
    for (const waiting of inTurn) {
      const sandbox = this.#ready(waiting.attempt);
      const location = sandbox ?? waiting.otherwise;
      const how = location instanceof Sandbox ? "in a child" : location;
      if (location === undefined || how === undefined || waiting.attempt.claimSlot?.(how) === false) continue;
      if (sandbox) this.#idle.splice(this.#idle.indexOf(sandbox), 1);
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      waiting.done(location);
    }
    this.#grow();
  }

  #ready({ task, settings }: Attempt): Sandbox | undefined {
    const last = task.lost >= settings.maxLost;
    return this.#idle.find((sandbox) => sandbox.unused || !last);
  }

  #grow(): void {
    const needsChild = ({ attempt, otherwise }: WaitingSuspect) =>
      otherwise !== "beside others" && this.#ready(attempt) === undefined;
    // One at a time: a start uses a CPU, and the first child that is ready serves many suspects.
    if (this.#stopped || this.#starting || !this.#waiting.some(needsChild)) return;
    if (this.#all.size >= MAX_CHILDREN) {
      // A used child makes room for a new one; if all are busy, the suspect waits for the next free one.
      const used = this.#idle.find((sandbox) => !sandbox.unused);
      if (used === undefined) return;
      this.#end(used);
    }
    void this.#start();
  }

  async #start(): Promise<void> {
    this.#starting = true;
    let sandbox: Sandbox | undefined;
    try {
      sandbox = new Sandbox(openChild(), this.#options);
      this.#all.add(sandbox);
      await sandbox.ready;
      this.#failures = 0;
      this.#idle.push(sandbox);
    } catch (error) {
      if (sandbox) this.#end(sandbox);
      if (!this.#stopped) this.#onFailure(error);
    } finally {
      this.#starting = false;
      this.#assign();
      this.#keepIdle();
    }
  }

  #onFailure(error: unknown): void {
    this.#failures += 1;
    this.#options.log.error(
      { reason: messageOf(error) },
      "sandbox: could not start a child process for tasks that have lost a worker; retrying while they wait",
    );
    const waiting = this.#waiting.find(({ otherwise }) => otherwise !== "beside others");
    if (!waiting) return;
    if (mayRunBesideOthers(waiting.attempt.task, waiting.attempt.settings)) {
      waiting.otherwise = "beside others";
      return;
    }
    this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
    // At first this is not the task's fault, but it must not go on forever.
    if (this.#failures < MAX_FAILURES) waiting.done({ kind: "later", afterMs: BROKEN_MS });
    else
      waiting.done({
        kind: "error",
        error: errorRecord(new Error(`no process could be started: ${messageOf(error)}`)),
      });
  }

  #giveBack(sandbox: Sandbox): void {
    if (sandbox.alive && !this.#stopped) this.#idle.push(sandbox);
    else this.#end(sandbox);
    this.#assign();
    this.#keepIdle();
  }

  #end(sandbox: Sandbox): void {
    this.#all.delete(sandbox);
    const at = this.#idle.indexOf(sandbox);
    if (at >= 0) this.#idle.splice(at, 1);
    void sandbox.kill();
  }

  #keepIdle(): void {
    clearTimeout(this.#idleTimer);
    if (this.#stopped) return;
    this.#idleTimer = setTimeout(() => {
      for (const sandbox of [...this.#idle]) this.#end(sandbox);
    }, IDLE_MS).unref();
  }
}

/** How a suspect may run if it has waited too long for a child. */
function otherwiseOf({ task, settings }: Attempt): Otherwise | undefined {
  if (mayRunBesideOthers(task, settings)) return "beside others";
  return mayRunAmongSuspects(task) ? "among suspects" : undefined;
}

const needsProcess = ({ otherwise }: WaitingSuspect): boolean => otherwise === "among suspects";
