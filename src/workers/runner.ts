import {
  type AttemptEnd,
  attemptEnd,
  type HandlerEnd,
  INPUT_GONE,
  INPUT_UNREAD,
} from "../engine/attempt/attempt-end.ts";
import type { Failure } from "../engine/attempt/fail.ts";
import type { Engine } from "../engine/engine.ts";
import type { QueueSettings } from "../engine/settings.ts";
import { messageOf, reasonOf } from "../errors.ts";
import type { Handler } from "../handler/define.ts";
import type { TargetState } from "../handler/target-state.ts";
import { type Logger, runInScope } from "../log.ts";
import type { ReservedTask } from "../store/verbs/reserve.ts";
import type { StoredStep } from "../store/verbs/step.ts";
import type { AttemptError, AttemptTrace, Tracing } from "../trace/tracing.ts";
import { Attempt } from "./attempt/attempt.ts";
import { type RetryOptions, retryFailedCall } from "./attempt/retry-call.ts";
import type { HandlerLimits } from "./attempt/task-context.ts";
import { reportToBreaker } from "./breaker-report.ts";
import type { LeaseRenewer } from "./lease-renewer.ts";
import type { Place } from "./place.ts";
import { started } from "./sandbox/executor.ts";
import type { Executors } from "./sandbox/executors.ts";
import { errorRecord } from "./sandbox/handler-end.ts";
import { errorForLog } from "./sandbox/relayed-error.ts";
import { isStandIn, type StandIn } from "./stand-in.ts";

/** How the end of an attempt is stored. */
type Report = Exclude<AttemptEnd, "nothing">;

/** How an attempt ended, and, for the queue of a gateway, what it has shown about the target. */
interface AttemptReport {
  readonly ending: Report;
  readonly target: TargetState | undefined;
}

/** The dependencies of a runner. */
export interface RunnerParts {
  readonly engine: Engine;
  readonly renewer: LeaseRenewer;
  readonly executors: Executors;
  readonly log: Logger;
  /** Undefined if nothing is traced. */
  readonly tracing: Tracing | undefined;
  readonly limits: HandlerLimits;
}

/** The options of one run. */
export interface Run {
  /** Start of its lease, monotonic ms. */
  readonly takenAt: number;
  readonly place: Place;
  /** The length of its lease until it is reported that the handler begins, ms; default: that of the queue. */
  readonly leaseMs?: number | undefined;
}

/** Runs attempts: calls the handler, and stores how it ended. */
export class Runner {
  readonly #parts: RunnerParts;

  constructor(parts: RunnerParts) {
    this.#parts = parts;
  }

  /**
   * Runs a reserved task until it is over for this worker. Never throws. A handler that returns synchronously has ended when this
   * returns: a promise for each step of an attempt would cost more than the rest of a short task.
   */
  run(task: ReservedTask, handler: Handler, settings: QueueSettings, run: Run): void {
    const { tracing } = this.#parts;
    const { queue, attempts: maxAttempts } = settings;
    const trace = tracing?.attempt({ ...task, queue, maxAttempts });
    const begin = () => this.#begin(task, handler, settings, run, trace);
    runInScope({ requestId: task.id }, trace ? () => trace.run(begin) : begin);
  }

  #begin(
    task: ReservedTask,
    handler: Handler,
    settings: QueueSettings,
    run: Run,
    trace: AttemptTrace | undefined,
  ): void {
    const { engine, renewer, log, limits } = this.#parts;
    const timed = isStandIn(handler) ? { ...settings, timeoutMs: handler.timeoutMsOf(task.id) } : settings;
    const { takenAt, leaseMs } = run;
    const attempt = new Attempt(task, timed, { engine, log, limits, takenAt, leaseMs, trace });
    renewer.hold(attempt);
    try {
      const end = this.#execute(attempt, handler, run.place);
      if (end instanceof Promise) {
        end
          .then((ended) => this.#ended(attempt, handler, ended, run))
          .catch((error: unknown) => this.#failed(attempt, error, run));
      } else this.#ended(attempt, handler, end, run);
    } catch (error) {
      this.#failed(attempt, error, run);
    }
  }

  #execute(attempt: Attempt, handler: Handler, place: Place): HandlerEnd | Promise<HandlerEnd> {
    const { task } = attempt;
    const execute = () =>
      place.execute?.(attempt) ?? this.#parts.executors.of(task, handler.queue).execute(attempt, handler);
    // Most inputs came with the task.
    return task.input === null ? withoutInput(attempt).then((hindered) => hindered ?? execute()) : execute();
  }

  /** The handler has ended or is abandoned: stores the end. */
  #ended(attempt: Attempt, handler: Handler, end: HandlerEnd, run: Run): void {
    attempt.end();
    const { ranMs, trace } = attempt;
    const { aborted } = attempt;
    // What a handler returns after it was asked to stop counts only at a shutdown.
    const how = aborted === undefined || (aborted === "shutdown" && end.kind === "result") ? end.kind : aborted;
    if (ranMs !== undefined) this.#parts.engine.metrics.attempts.observe(ranMs, attempt.settings.queue, how);
    trace?.ended(how, errorOf(end));
    run.place.settled(attempt.goingOn);
    note(attempt, end);
    // Losses never end such a task: one that kills its own process counts as failed, so that it does not repeat forever.
    const counted = isStandIn(handler) ? asFailure(end) : end;
    const facts = { settings: attempt.settings, attempt: attempt.task.attempt, aborted };
    const ending = attemptEnd(counted, facts, Math.random());
    const over = () => {
      if (this.#parts.log.isLevelEnabled("info")) {
        attempt.log.info({ ms: Math.round(attempt.ranMs ?? 0), outcome: end.kind }, "attempt ended");
      }
      this.#over(attempt, run);
    };
    if (ending === "nothing") over();
    else this.#tell(attempt, handler, { ending, target: end.target }, over);
  }

  /** Nothing awaits this; the lease expires, and the task is run again. */
  #failed(attempt: Attempt, error: unknown, run: Run): void {
    attempt.log.error(
      { err: error },
      "runner: an attempt ended with an unexpected error; the task runs again when its lease ends",
    );
    attempt.end();
    run.place.settled();
    this.#over(attempt, run);
  }

  #over(attempt: Attempt, run: Run): void {
    attempt.trace?.over();
    this.#parts.renewer.drop(attempt);
    run.place.over();
  }

  /** Stores the end of the attempt, retrying until it succeeds or no longer matters; then calls back. */
  #tell(attempt: Attempt, handler: Handler, { ending, target }: AttemptReport, over: () => void): void {
    const { hasBreaker } = attempt.settings;
    const sayOfGateway = async () => {
      const goesBack = await reportToBreaker(this.#parts.engine, attempt, target);
      return this.#say(attempt, handler, goesBack ? "release" : ending);
    };
    const say = hasBreaker ? sayOfGateway : () => this.#say(attempt, handler, ending);
    const told = (verdict: string) => {
      attempt.trace?.told(verdict);
      heard(attempt, ending, verdict);
      over();
    };
    const options: RetryOptions = {
      done: () => attempt.aborted === "lease-lost" || attempt.aborted === "shutdown",
      onFailure: (error) =>
        attempt.log.warn({ reason: reasonOf(error) }, "runner: could not store the end of the attempt; retrying"),
    };
    say().then(told, (failed: unknown) =>
      retryFailedCall(say, options, failed).then(told, (error: unknown) => {
        const reason = reasonOf(error);
        attempt.log.error(
          { reason },
          "runner: could not store the end of the attempt; the task runs again when its lease ends",
        );
        over();
      }),
    );
  }

  #say(attempt: Attempt, handler: Handler, ending: Report): Promise<string> {
    const { engine } = this.#parts;
    const { lease, settings, untimed, task } = attempt;
    if (ending === "release") return engine.call("release", lease);
    if (ending === "lose") return engine.call("lose", lease);
    if ("result" in ending) {
      return engine.leases.complete(lease, ending.result, settings, { untimed, announced: task.announced });
    }
    if (isStandIn(handler)) {
      const isLast = ending.failure.kind === "give-up" || attempt.task.attempt >= settings.attempts;
      if (isLast) return this.#giveUp(attempt, handler, ending.failure);
    }
    return engine.leases.fail(lease, ending.failure, settings);
  }

  /** The task becomes a dead letter, whatever the reason. */
  async #giveUp({ lease, task, settings }: Attempt, handler: StandIn, failure: Failure): Promise<string> {
    const { engine } = this.#parts;
    const steps = (await engine.steps.all(lease)) ?? new Map<string, StoredStep>();
    const last = { ...handler.lastFailure(lease.id, failure, steps), kind: "retry" } as const;
    return engine.leases.fail(lease, last, { ...settings, attempts: task.attempt });
  }
}

/** Reads a long input; returns an end if the handler cannot begin. Its lease is renewed meanwhile. */
async function withoutInput(attempt: Attempt): Promise<HandlerEnd | undefined> {
  try {
    let kept = true;
    const reading = attempt.readInput().then((read) => {
      kept = read;
    });
    const stopped = await started(attempt, reading);
    return stopped ?? (kept ? undefined : INPUT_GONE);
  } catch (error) {
    attempt.log.warn({ reason: reasonOf(error) }, "runner: could not read the input; the task is retried later");
    return INPUT_UNREAD;
  }
}

/** The death of a process as a failed attempt. */
function asFailure(end: HandlerEnd): HandlerEnd {
  return end.kind === "lost" ? { kind: "error", error: errorRecord(new Error(end.how)) } : end;
}

/** The error of an end, for its trace. */
function errorOf(end: HandlerEnd): AttemptError | undefined {
  if (end.kind === "error") return end.error;
  if (end.kind === "lost") return { message: end.how };
  return "message" in end && end.message !== undefined ? { message: end.message } : undefined;
}

/** Logs the store's verdict on the end of an attempt if it is unusual. */
function heard(attempt: Attempt, ending: AttemptEnd, verdict: string): void {
  if (verdict === "stale" || verdict === "unknown")
    attempt.log.warn(
      { verdict },
      "runner: the store refused the end of the attempt; the task no longer belongs to this worker",
    );
  else if (verdict === "dead" && ending === "lose") attempt.log.error("the task lost its worker too often and is dead");
  else if (verdict === "dead") attempt.log.error("the task is dead: its attempts are used up");
}

/** Logs how a handler ended if it did not return a result. */
function note(attempt: Attempt, end: HandlerEnd): void {
  const { aborted, settings } = attempt;
  if (end.kind === "result" && aborted === undefined) return;
  const { log } = attempt;
  if (aborted === "lease-lost")
    log.warn("runner: the lease was lost to another worker; the result of this attempt is discarded");
  else if (aborted === "timeout")
    log.warn({ timeoutMs: settings.timeoutMs }, "runner: the attempt took longer than its timeout");

  // It had not begun.
  if (end.kind === "overdue" && attempt.ranMs === undefined) return;
  if (end.kind === "overdue") log.warn({ aborted }, "runner: the handler ignored its signal; no longer waiting for it");
  else if (end.kind === "lost") log.warn({ how: end.how }, "runner: the process that ran the task died");
  else if (end.kind === "permanent")
    log.warn({ reason: end.message }, "runner: the attempt failed; not retrying, since another attempt would fail too");
  else if (end.kind === "error" && aborted === undefined)
    log.warn({ err: errorForLog(end.error) }, "the attempt failed");
  else if (end.kind === "error") log.debug({ reason: messageOf(end.error) }, "the handler has ended");
}
