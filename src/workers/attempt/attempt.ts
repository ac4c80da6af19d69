import { newCall } from "../../engine/calls/calls.ts";
import type { Engine } from "../../engine/engine.ts";
import type { QueueSettings } from "../../engine/settings.ts";
import { type AbortCause, type HandlerEnd, TaskAborted } from "../../engine/tasks/attempt-end.ts";
import { messageOf, ProblemError } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import type { ReservedTask } from "../../store/line/reserve.ts";
import type { StepVerdict, WriteAnswer } from "../../store/task/attempt.ts";
import type { Completion } from "../../store/task/complete.ts";
import type { Lease } from "../../store/task/lease.ts";
import type { Input } from "../../task.ts";
import type { AttemptTrace, InSpan } from "../../trace/tracing.ts";
import { AttemptLog } from "./attempt-log.ts";
import type { OutputStore } from "./output.ts";
import { OutputWriter } from "./output-writer.ts";
import { Reporter } from "./reporter.ts";
import { retryCall } from "./retry-call.ts";
import type { StepStore } from "./steps.ts";
import type { HandlerLimits, TaskActions, TaskFacts } from "./task-context.ts";

/**
 * Maximum lease of a task that was with a worker that died until its handler begins, ms: short, so that another worker gets it soon if this
 * one dies too.
 */
export const SUSPECT_LEASE_MS = 1500;

/** Pause before a task is retried whose begin could not be reported, ms. */
const UNREPORTED_MS = 5000;
/** How long a handler may go on after its signal has fired, ms: usually, and when its process stops. */
const GRACE = { ms: 2000, shutdownMs: 500 } as const;

/** What the attempts of a worker process share. */
export interface AttemptParts {
  readonly engine: Engine;
  readonly log: Logger;
  readonly limits: HandlerLimits;
  /** How long a handler may go on after its signal has fired, ms. Default: 2 s, and 0.5 s when its process stops. */
  readonly graceMs?: number | undefined;
}

/** One attempt at one task: its lease, its signal, its timeout, and its connection to the store. */
export class Attempt implements TaskActions {
  readonly task: ReservedTask;
  readonly settings: QueueSettings;
  readonly lease: Lease;
  /** The length of its lease, ms. */
  leaseMs: number;
  /** When the lease was last known to hold, monotonic ms. */
  renewedAt: number;
  /** Resolves when an abandoned handler ends; undefined if it was not abandoned. */
  goingOn: Promise<unknown> | undefined;
  /** Undefined if it is not traced. */
  readonly trace: AttemptTrace | undefined;
  /** Its service time, see Completion. */
  serviceMs: Completion["serviceMs"];
  readonly #parts: AttemptParts;
  #log: Logger | undefined;
  #handlerLog: AttemptLog | undefined;
  #aborted: AbortCause | undefined;
  #abort: AbortController | undefined;
  #onAbort: (() => void)[] | undefined;
  #timer: NodeJS.Timeout | undefined;
  #beganAt: number | undefined;
  #isOverdue = false;
  #reported = false;
  #reporter: Reporter | undefined;
  #input: Buffer | null;
  #steps: StepStore | undefined;
  #output: OutputStore | undefined;

  /**
   * @param own `takenAt`: latest start of the lease, monotonic ms; `trace`: undefined if it is not traced
   */
  constructor(
    task: ReservedTask,
    settings: QueueSettings,
    parts: AttemptParts,
    own: { readonly takenAt: number; readonly trace?: AttemptTrace | undefined },
  ) {
    this.task = task;
    this.settings = settings;
    this.lease = { queue: settings.queue, id: task.id, fence: task.fence };
    this.renewedAt = own.takenAt;
    this.trace = own.trace;
    this.leaseMs = task.unbegun ? Math.min(settings.leaseMs, SUSPECT_LEASE_MS) : settings.leaseMs;
    this.#parts = parts;
    this.#input = task.input;
  }

  /** Its lines carry the number of the attempt; those written during the run also carry the task's id. */
  get log(): Logger {
    this.#log ??= this.#parts.log.child({ queue: this.settings.queue, attempt: this.task.attempt });
    return this.#log;
  }

  /** The log of the handler. Created on demand, since most handlers log nothing. */
  get handlerLog(): Logger {
    this.#handlerLog ??= new AttemptLog(this.log);
    return this.#handlerLog.log;
  }

  /** What the handler has logged; undefined if it has not used its log. */
  get logged(): AttemptLog | undefined {
    return this.#handlerLog;
  }

  get inSpan(): InSpan | undefined {
    return this.trace?.inSpan;
  }

  /** Accepts progress reports of the handler. Created on demand, since most handlers report nothing. */
  get reporter(): Reporter {
    this.#reporter ??= new Reporter(
      (percent, message) => this.#parts.engine.call("progress", { ...this.lease, progress: `${percent} ${message}` }),
      // Progress is optional: the task continues, and the next report may arrive.
      (error) =>
        this.log.debug(
          { reason: messageOf(error) },
          "attempt: could not store the progress; the next report may succeed",
        ),
    );
    return this.#reporter;
  }

  /** Stores the steps; waits while the store is unreachable. */
  get steps(): StepStore {
    if (this.#steps === undefined) {
      const { engine, limits } = this.#parts;
      const { maxResultBytes } = limits;
      const { lease, log } = this;
      const away = {
        done: () => this.aborted !== undefined,
        onFailure: (error: unknown) =>
          log.warn(
            { reason: messageOf(error) },
            "attempt: could not read or write a step; retrying until the store answers",
          ),
      };
      this.#steps = {
        load: () => retryCall(() => engine.steps.all(lease), away),
        begin: async (name, undo) => {
          const begin = () => (undo ? engine.steps.begin(lease, name, maxResultBytes) : this.#stillHeld());
          const verdict = await retryCall(begin, away);
          if (verdict === "canceled" || verdict === "deadline" || verdict === "abandoned") this.abort(verdict);
          return verdict;
        },
        keep: (name, value, undo) =>
          retryCall(() => engine.steps.keep(lease, { name, value, undo }, maxResultBytes), away),
        undone: (name) => retryCall(() => engine.steps.undone(lease, name), away),
      };
    }
    return this.#steps;
  }

  /** Stores what the handler writes; waits while the store is unreachable, and refuses output if the store is full. */
  get output(): OutputStore {
    this.#output ??= new OutputWriter((values) => this.#write(values));
    return this.#output;
  }

  async #write(values: readonly string[]): Promise<WriteAnswer> {
    const { engine, limits } = this.#parts;
    // The same in each try, so that values are stored once even if a reply is lost.
    const options = { maxBytes: limits.maxOutputBytes, call: newCall() };
    const write = () =>
      engine.outputs.write(this.lease, values, options).catch((error: unknown) => {
        if (error instanceof ProblemError && error.code === "store-full") return error;
        throw error;
      });
    const written = await retryCall(write, {
      done: () => this.aborted !== undefined,
      onFailure: (error) =>
        this.log.warn(
          { reason: messageOf(error) },
          "attempt: could not store the output; retrying until the store answers",
        ),
    });
    if (written instanceof ProblemError) throw written;
    return written;
  }

  /** Asks the store only if the lease may have ended unnoticed, e.g. because the process was blocked. */
  async #stillHeld(): Promise<StepVerdict> {
    const now = performance.now();
    if (now - this.renewedAt <= this.settings.leaseMs) return "ok";
    const verdict = await this.#parts.engine.leases.renew(this.lease, this.settings.leaseMs);
    if (verdict === "ok") this.renewedAt = now;
    return verdict === "cancel" ? "canceled" : verdict;
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.#aborted !== undefined) this.#abort.abort(new TaskAborted(this.#aborted));
    }
    return this.#abort.signal;
  }

  /** Why the handler was asked to stop; undefined if it was not. */
  get aborted(): AbortCause | undefined {
    return this.#aborted;
  }

  /** How long the handler may go on after its signal has fired, ms; then it is overdue. */
  get graceMs(): number {
    return this.#parts.graceMs ?? (this.#aborted === "shutdown" ? GRACE.shutdownMs : GRACE.ms);
  }

  /** Asks the handler to stop. The first cause stays, unless the lease is lost later: then its end no longer matters. */
  abort(cause: AbortCause): void {
    if (this.#aborted !== undefined && (cause !== "lease-lost" || this.#aborted === cause)) return;
    this.#aborted = cause;
    this.#abort?.abort(new TaskAborted(cause));
    for (const listener of this.#onAbort ?? []) listener();
  }

  /**
   * Calls back when the signal fires, or at once if it has fired, and again if the lease is lost later. Much cheaper than a listener on the
   * signal.
   */
  whenAborted(listener: () => void): void {
    this.#onAbort ??= [];
    this.#onAbort.push(listener);
    if (this.#aborted !== undefined) listener();
  }

  /** Whether the begin of its handler has to be reported, and was not. */
  get unreported(): boolean {
    return this.task.unbegun && !this.#reported;
  }

  /**
   * Reports to the store that the handler begins, and waits while the store is unreachable: until it is reported, a loss of this
   * worker does not count against the task. If the handler must not begin, returns an end, and the signal has fired if the task must stop.
   * @param apart whether the handler runs in a child process
   */
  async report(apart: boolean): Promise<HandlerEnd | undefined> {
    try {
      if (this.aborted === undefined) await this.#report(apart);
      return this.aborted === undefined ? undefined : { kind: "overdue" };
    } catch (error) {
      this.log.warn({ reason: messageOf(error) }, "attempt: the handler could not begin; the task is retried later");
      return { kind: "later", afterMs: UNREPORTED_MS };
    }
  }

  async #report(apart: boolean): Promise<void> {
    let askedAt = 0;
    const begin = () => {
      askedAt = performance.now();
      return this.#parts.engine.call("begin", { ...this.lease, leaseMs: this.settings.leaseMs, apart });
    };
    const verdict = await retryCall(begin, {
      done: () => this.aborted !== undefined,
      onFailure: (error) =>
        this.log.warn({ reason: messageOf(error) }, "attempt: could not store that the handler begins; retrying"),
    });
    if (verdict === "stale") this.abort("lease-lost");
    else if (verdict === "cancel") this.abort("canceled");
    else if (verdict === "deadline" || verdict === "abandoned") this.abort(verdict);
    else if (verdict === "ok") {
      this.#reported = true;
      this.leaseMs = this.settings.leaseMs;
      this.renewedAt = Math.max(this.renewedAt, askedAt);
    }
  }

  /** How long the handler has run, ms; undefined if it has not begun. */
  get ranMs(): number | undefined {
    return this.#beganAt === undefined ? undefined : performance.now() - this.#beganAt;
  }

  /**
   * The handler starts, and with it its timeout. False if it must not: the lease has ended, since this process stood still, so the task may be
   * somebody else's.
   */
  begin(): boolean {
    const now = performance.now();
    if (now - this.renewedAt >= this.leaseMs) {
      this.log.warn(
        "attempt: the lease ended before the handler began, since the process stood still; it does not begin",
      );
      return false;
    }
    this.#beganAt = now;
    const { timeoutMs } = this.settings;
    if (timeoutMs !== undefined) this.#timer = setTimeout(() => this.abort("timeout"), timeoutMs);
    return true;
  }

  /** The handler runs on after its signal, until `end`. */
  overdue(end: Promise<unknown>): void {
    if (this.#isOverdue) return;
    this.#isOverdue = true;
    const { metrics } = this.#parts.engine;
    const { queue } = this.settings;
    metrics.countOverdue(queue, 1);
    void end.then(() => metrics.countOverdue(queue, -1));
    this.log.warn(
      { requestId: this.lease.id, aborted: this.aborted },
      "attempt: the handler continues after its signal",
    );
  }

  /** The handler has ended or is abandoned. */
  end(): void {
    clearTimeout(this.#timer);
  }

  /** Reads a long input; false if the store no longer has it. @throws ProblemError store-unavailable */
  async readInput(): Promise<boolean> {
    this.#input = await this.#parts.engine.values.inputOf(this.task, this.lease.queue);
    return this.#input !== null;
  }

  get input(): Input {
    // The handler does not begin without it.
    if (this.#input === null) throw new Error("the input has not been read");
    return { bytes: this.#input, mediaType: this.task.mediaType };
  }

  get facts(): TaskFacts {
    const { id, attempt, fence, query, mediaType, createdMs, caller } = this.task;
    const { queue, attempts: maxAttempts } = this.settings;
    return {
      id,
      queue,
      attempt,
      maxAttempts,
      fence,
      query,
      mediaType,
      createdMs,
      caller,
      trace: this.trace?.trace ?? this.task.trace,
    };
  }
}
