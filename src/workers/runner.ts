import type { QueueSettings } from "../engine/settings.ts";
import {
  type AttemptEnd,
  attemptEnd,
  type Failure,
  type HandlerEnd,
  INPUT_GONE,
  INPUT_UNREAD,
  redactedEnd,
} from "../engine/tasks/attempt-end.ts";
import { messageOf, reasonOf } from "../errors.ts";
import type { Handler } from "../handler/define.ts";
import { runInScope } from "../log.ts";
import type { ReservedTask } from "../store/line/reserve.ts";
import type { StoredStep } from "../store/task/attempt.ts";
import type { AttemptError, Tracing } from "../trace/tracing.ts";
import { Attempt, type AttemptParts } from "./attempt/attempt.ts";
import { recordOf } from "./attempt/attempt-log.ts";
import { type RetryOptions, retryFailedCall } from "./attempt/retry-call.ts";
import type { LeaseRenewer } from "./lease-renewer.ts";
import { started } from "./sandbox/executor.ts";
import type { Executors } from "./sandbox/executors.ts";
import { errorForLog } from "./sandbox/handler-end.ts";
import type { Slot } from "./slots.ts";
import { isStandIn, type StandIn } from "./stand-in.ts";

/** What the pools and runners of a worker process share. */
export interface WorkerParts extends AttemptParts {
  readonly renewer: LeaseRenewer;
  readonly executors: Executors;
  /** Undefined if nothing is traced. */
  readonly tracing: Tracing | undefined;
}

/** Runs attempts at the tasks of a queue: calls the handler, and stores how it ended. */
export class Runner {
  readonly #handler: Handler;
  readonly #settings: QueueSettings;
  readonly #parts: WorkerParts;

  constructor(handler: Handler, settings: QueueSettings, parts: WorkerParts) {
    this.#handler = handler;
    this.#settings = settings;
    this.#parts = parts;
  }

  /**
   * Runs a reserved task until it is over for this worker. Never throws. A handler that returns synchronously has ended when this
   * returns: a promise for each step of an attempt would cost more than the rest of a short task.
   * @param takenAt start of its lease, monotonic ms
   */
  run(task: ReservedTask, slot: Slot, takenAt: number): void {
    const { renewer, executors, tracing } = this.#parts;
    const handler = this.#handler;
    const { queue, attempts: maxAttempts } = this.#settings;
    const trace = tracing?.attempt({ ...task, queue, maxAttempts });
    const settings = isStandIn(handler)
      ? { ...this.#settings, timeoutMs: handler.timeoutMsOf(task.id) }
      : this.#settings;
    const attempt = new Attempt(task, settings, this.#parts, { takenAt, trace });
    const execute = () => slot.execute?.(attempt) ?? executors.of(task, queue).execute(attempt, handler);
    const failed = (error: unknown) => {
      const text = "runner: an attempt ended with an unexpected error; the task runs again when its lease ends";
      attempt.log.error({ err: error }, text);
      attempt.end();
      slot.ended();
      this.#over(attempt, slot);
    };
    const begin = () => {
      renewer.hold(attempt);
      try {
        // Most inputs came with the task.
        const end = task.input === null ? withoutInput(attempt).then((hindered) => hindered ?? execute()) : execute();
        if (end instanceof Promise) end.then((ended) => this.#end(attempt, ended, slot)).catch(failed);
        else this.#end(attempt, end, slot);
      } catch (error) {
        failed(error);
      }
    };
    runInScope({ requestId: task.id }, trace ? () => trace.run(begin) : begin);
  }

  /** The handler has ended or is abandoned: decides what that means for the task, frees the slot, and stores it. */
  #end(attempt: Attempt, ended: HandlerEnd, slot: Slot): void {
    const end = ended.kind === "result" ? ended : redactedEnd(ended, this.#parts.engine.redacted);
    attempt.end();
    if (slot.since !== undefined) attempt.serviceMs = performance.now() - slot.since;
    const { ranMs, trace, aborted, settings } = attempt;
    // What a handler returns after it was asked to stop counts only at a shutdown.
    const how = aborted === undefined || (aborted === "shutdown" && end.kind === "result") ? end.kind : aborted;
    if (ranMs !== undefined && how !== "unbegun")
      this.#parts.engine.metrics.attempts.observe(ranMs, settings.queue, how);
    trace?.ended(how, errorOf(end));
    slot.ended(attempt.goingOn);
    if (this.#parts.log.isLevelEnabled("info"))
      attempt.log.info({ ms: Math.round(ranMs ?? 0), outcome: end.kind }, "attempt ended");
    if (how !== "result") logEnd(attempt, end);
    // Losses never end the task of a stand-in: one that kills its own process counts as failed, so that it does not repeat forever.
    const facts = {
      ...{ settings, attempt: attempt.task.attempt, aborted, begun: ranMs !== undefined },
      lossFails: isStandIn(this.#handler),
    };
    const ending = attemptEnd(end, facts, Math.random());
    if (ending === "nothing") return this.#over(attempt, slot);
    const { engine } = this.#parts;
    const gate = engine.leases.gateOf(settings.queue);
    const record = this.#recordOf(attempt, end);
    // Usually without a further promise.
    const store =
      gate === undefined && record === undefined
        ? () => this.#store(attempt, ending)
        : async () => {
            if (record !== undefined) await this.#keepLog(attempt, record);
            const goesBack = await gate?.ended(attempt.lease, end.noted, attempt.log);
            return this.#store(attempt, goesBack ? "release" : ending);
          };
    const stored = (verdict: string) => {
      trace?.stored(verdict);
      logVerdict(attempt, ending, verdict);
      this.#over(attempt, slot);
    };
    const options: RetryOptions = {
      done: () => attempt.aborted === "lease-lost" || attempt.aborted === "shutdown",
      onFailure: (error) =>
        attempt.log.warn({ reason: reasonOf(error) }, "runner: could not store the end of the attempt; retrying"),
    };
    store().then(stored, (failed: unknown) =>
      retryFailedCall(store, options, failed).then(stored, (error: unknown) => {
        const text = "runner: could not store the end of the attempt; the task runs again when its lease ends";
        attempt.log.error({ reason: reasonOf(error) }, text);
        this.#over(attempt, slot);
      }),
    );
  }

  /** What an attempt leaves for operators; nothing, rather than its outcome, is lost if that cannot be told. */
  #recordOf({ logged, log }: Attempt, end: HandlerEnd): string | undefined {
    try {
      return recordOf(logged, end);
    } catch (error) {
      log.warn({ reason: messageOf(error) }, "runner: could not read the log of the attempt; only its end is stored");
      return undefined;
    }
  }

  /** Keeps what an attempt leaves for operators: before its end is stored, so that whoever sees the end sees that. */
  async #keepLog({ lease, log: workerLog }: Attempt, log: string): Promise<void> {
    try {
      await this.#parts.engine.call("attemptLog", { ...lease, log });
    } catch (error) {
      workerLog.debug({ reason: reasonOf(error) }, "runner: could not keep the log of the attempt; its end is stored");
    }
  }

  /** Stores the end of an attempt. Idempotent. @throws ProblemError store-unavailable */
  #store(attempt: Attempt, ending: Exclude<AttemptEnd, "nothing">): Promise<string> {
    const { engine } = this.#parts;
    const { lease, settings, serviceMs, task, ranMs } = attempt;
    if (ending === "release") return engine.call("release", { ...lease, unbegun: ranMs === undefined });
    if (ending === "lose") return engine.call("lose", lease);
    if ("result" in ending) {
      return engine.leases.complete(lease, ending.result, settings, { serviceMs, announced: task.announced });
    }
    const isLast = ending.failure.kind === "give-up" || task.attempt >= settings.attempts;
    if (isLast && isStandIn(this.#handler)) return this.#giveUp(attempt, this.#handler, ending.failure);
    return engine.leases.fail(lease, ending.failure, settings);
  }

  /** The task becomes a dead letter, whatever the reason. */
  async #giveUp({ lease, task, settings }: Attempt, handler: StandIn, failure: Failure): Promise<string> {
    const { engine } = this.#parts;
    const steps = (await engine.steps.all(lease)) ?? new Map<string, StoredStep>();
    const last = { ...handler.lastFailure(lease.id, failure, steps), kind: "retry" } as const;
    return engine.leases.fail(lease, last, { ...settings, attempts: task.attempt });
  }

  /** The attempt is over for this worker; its end is stored, or need not be. */
  #over(attempt: Attempt, slot: Slot): void {
    attempt.trace?.over();
    this.#parts.renewer.drop(attempt);
    slot.stored();
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

/** The error of an end, for its trace. */
function errorOf(end: HandlerEnd): AttemptError | undefined {
  if (end.kind === "error") return end.error;
  if (end.kind === "lost") return { message: end.how };
  return "message" in end && end.message !== undefined ? { message: end.message } : undefined;
}

/** Logs how a handler ended if it did not return a result. */
function logEnd(attempt: Attempt, end: HandlerEnd): void {
  const { aborted, settings, log, ranMs } = attempt;
  if (aborted === "lease-lost")
    log.warn("runner: the lease was lost to another worker; the result of this attempt is discarded");
  else if (aborted === "timeout")
    log.warn({ timeoutMs: settings.timeoutMs }, "runner: the attempt took longer than its timeout");

  // It had not begun.
  if (end.kind === "overdue" && ranMs === undefined) return;
  if (end.kind === "overdue") log.warn({ aborted }, "runner: the handler ignored its signal; no longer waiting for it");
  else if (end.kind === "lost") log.warn({ how: end.how }, "runner: the process that ran the task died");
  else if (end.kind === "permanent")
    log.warn({ reason: end.message }, "runner: the attempt failed; not retrying, since another attempt would fail too");
  else if (end.kind === "error" && aborted === undefined)
    log.warn({ err: errorForLog(end.error) }, "the attempt failed");
  else if (end.kind === "error") log.debug({ reason: messageOf(end.error) }, "the handler has ended");
}

/** Logs the store's verdict on the end of an attempt if it is unusual. */
function logVerdict(attempt: Attempt, ending: AttemptEnd, verdict: string): void {
  if (verdict === "stale" || verdict === "unknown")
    attempt.log.warn(
      { verdict },
      "runner: the store refused the end of the attempt; the task no longer belongs to this worker",
    );
  else if (verdict === "dead" && ending === "lose") attempt.log.error("the task lost its worker too often and is dead");
  else if (verdict === "dead") attempt.log.error("the task is dead: its attempts are used up");
}
