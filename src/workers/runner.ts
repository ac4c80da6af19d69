import type { Engine } from "../engine/engine.ts";
import type { Failure } from "../engine/finish.ts";
import { catalogueResult, problemResult } from "../engine/problem.ts";
import { backoffMs, type QueueSettings } from "../engine/settings.ts";
import { messageOf } from "../errors.ts";
import { type Handler, isGiveUp, isRetryLater } from "../handler.ts";
import { type Logger, withRequestId } from "../log.ts";
import type { Reserved } from "../store/scripts.ts";
import type { Result } from "../task.ts";
import { AnswerTooLarge, toResult } from "./answer.ts";
import { Attempt, InvalidInput, TaskAborted } from "./attempt.ts";
import type { Keeper } from "./keeper.ts";

/** A handler that ignores its signal keeps its slot for so long after the timeout; then the attempt is over without it. */
const TIMEOUT_GRACE_MS = 2000;
/** Pauses between tries to tell the store how an attempt ended. */
const TELL_RETRY_MS = { first: 100, most: 2000 } as const;

/** What a runner needs. */
export interface RunnerParts {
  readonly engine: Engine;
  readonly keeper: Keeper;
  readonly log: Logger;
  readonly maxResultBytes: number;
}

type Ending = { readonly result: Result } | { readonly failure: Failure } | "release" | "nothing";

/** Runs attempts: input, handler, timeout, result, and telling the store, for one task at a time each. */
export class Runner {
  readonly #parts: RunnerParts;

  constructor(parts: RunnerParts) {
    this.#parts = parts;
  }

  /** Runs a task that was reserved, to its end as far as this worker is concerned. Never rejects. */
  run(task: Reserved, handler: Handler, settings: QueueSettings): Promise<void> {
    return withRequestId(task.id, async () => {
      const log = this.#parts.log.child({ queue: settings.queue, attempt: task.attempt });
      const attempt = new Attempt(task, settings, this.#parts.engine, log);
      this.#parts.keeper.hold(attempt);
      const started = performance.now();
      try {
        const ending = await this.#attempt(attempt, handler, log);
        await this.#tell(attempt, ending, log);
        log.debug({ ms: Math.round(performance.now() - started) }, "attempt ended");
      } finally {
        this.#parts.keeper.drop(attempt);
      }
    });
  }

  async #attempt(attempt: Attempt, handler: Handler, log: Logger): Promise<Ending> {
    const { settings } = attempt;
    let timer: NodeJS.Timeout | undefined;
    try {
      const input = await attempt.input(handler);
      const work = Promise.resolve(handler.run(input, attempt.context(log)));
      const outcome =
        settings.timeoutMs === undefined
          ? work
          : Promise.race([
              work,
              this.#timeout(attempt, settings.timeoutMs, (t) => {
                timer = t;
              }),
            ]);
      const result = await toResult(await outcome, this.#parts.maxResultBytes);
      return attempt.aborted === "timeout" ? this.#failed(attempt, new TaskAborted("timeout"), log) : { result };
    } catch (error) {
      return this.#failed(attempt, error, log);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Fires the signal at the timeout, and rejects when the handler has not settled a grace later. */
  #timeout(attempt: Attempt, ms: number, keep: (timer: NodeJS.Timeout) => void): Promise<never> {
    return new Promise((_, reject) => {
      keep(
        setTimeout(() => {
          attempt.abort("timeout");
          keep(setTimeout(() => reject(new TaskAborted("timeout")), TIMEOUT_GRACE_MS));
        }, ms),
      );
    });
  }

  #failed(attempt: Attempt, error: unknown, log: Logger): Ending {
    const { task, settings, aborted } = attempt;
    if (aborted === "lease-lost") return "nothing";
    if (aborted === "shutdown") return "release";
    const delayMs = backoffMs(settings.backoff, task.attempt, Math.random());
    const failure = { delayMs, error: messageOf(error), code: "task-failed" } as const;
    if (aborted === "timeout") {
      log.warn({ timeoutMs: settings.timeoutMs }, "the attempt took too long");
      const result = catalogueResult("task-timeout", `The handler took longer than ${settings.timeoutMs} ms.`);
      return {
        failure: {
          ...failure,
          kind: "retry",
          code: "task-timeout",
          error: `took longer than ${settings.timeoutMs} ms`,
          result,
        },
      };
    }
    if (isRetryLater(error)) {
      return { failure: { ...failure, kind: "later", delayMs: error.afterMs, result: catalogueResult("task-failed") } };
    }
    if (isGiveUp(error)) {
      const problem = { type: "/problems/task-failed", title: "The task failed", ...error.problem };
      return {
        failure: { ...failure, kind: "give-up", result: problemResult({ ...problem, status: problem.status ?? 500 }) },
      };
    }
    log.warn({ err: error }, "the attempt failed");
    if (error instanceof InvalidInput || error instanceof AnswerTooLarge) {
      return { failure: { ...failure, kind: "give-up", result: catalogueResult("task-failed", error.message) } };
    }
    // What a handler throws unasked may hold secrets: it goes to the log and the dead letter, not to the caller.
    const detail = `The handler failed in each of ${settings.attempts} attempts.`;
    return {
      failure: {
        ...failure,
        kind: "retry",
        result: catalogueResult("task-failed", settings.attempts > 1 ? detail : undefined),
      },
    };
  }

  /** Tells the store how the attempt ended, until it hears it or the lease is known to be lost. */
  async #tell(attempt: Attempt, ending: Ending, log: Logger): Promise<void> {
    if (ending === "nothing") {
      log.warn("the lease was lost: another worker has the task, what this one made of it is dropped");
      return;
    }
    for (let pause: number = TELL_RETRY_MS.first; ; pause = Math.min(pause * 2, TELL_RETRY_MS.most)) {
      try {
        const verdict = await this.#say(attempt, ending);
        if (verdict === "stale" || verdict === "unknown") {
          log.warn({ verdict }, "the store refused the end of the attempt: the task is no longer this worker's");
        } else if (verdict === "dead") {
          log.error("the task is dead: its attempts are used up");
        }
        return;
      } catch (error) {
        if (attempt.aborted === "lease-lost" || attempt.aborted === "shutdown") {
          log.warn({ reason: messageOf(error) }, "the end of the attempt was not stored: the task will be run again");
          return;
        }
        log.warn({ reason: messageOf(error) }, "the end of the attempt is not stored yet");
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
    }
  }

  #say(attempt: Attempt, ending: Exclude<Ending, "nothing">): Promise<string> {
    const { finisher } = this.#parts.engine;
    const { lease, settings } = attempt;
    if (ending === "release") return finisher.release(lease, settings);
    if ("result" in ending) return finisher.complete(lease, ending.result, settings);
    return finisher.fail(lease, ending.failure, settings);
  }
}
