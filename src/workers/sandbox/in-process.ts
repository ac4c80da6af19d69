import type { HandlerEnd } from "../../engine/tasks/attempt-end.ts";
import type { Handler } from "../../handler/define.ts";
import { type Logger, runInScope } from "../../log.ts";
import type { InSpan } from "../../trace/tracing.ts";
import type { Attempt } from "../attempt/attempt.ts";
import { Context, type HandlerLimits, type TaskActions } from "../attempt/task-context.ts";
import { awaitEnd, type Executor, type Leave } from "./executor.ts";
import { perform, performBatch } from "./perform.ts";

/** What {@link InProcess} needs. */
export interface InProcessParts {
  readonly limits: HandlerLimits;
  /** How long a handler may ignore its signal if its lease is not longer, ms: as long as a running task may take when its process stops. */
  readonly drainTimeoutMs: number;
  /** Called when only the end of this process can end a handler whose task must wait for that end. */
  readonly onStuck: (attempt: Attempt) => void;
}

const UNBEGUN: HandlerEnd = { kind: "unbegun" };

/** Runs handlers in this process. A handler that ignores its signal cannot be ended here: the task waits for it, or goes on without it. */
export class InProcess implements Executor {
  readonly #parts: InProcessParts;

  constructor(parts: InProcessParts) {
    this.#parts = parts;
  }

  execute(attempt: Attempt, handler: Handler): HandlerEnd | Promise<HandlerEnd> {
    if (attempt.unreported) return attempt.report(false).then((stopped) => stopped ?? this.execute(attempt, handler));
    const { limits } = this.#parts;
    const context = new Context(attempt.facts, attempt, handler, limits);
    if (!attempt.begin()) return UNBEGUN;
    const end = perform(handler, attempt.input, context, limits.maxResultBytes);
    return end instanceof Promise ? this.#awaitEnd(attempt, end) : end;
  }

  /** Runs a handler with `batch` on several tasks in one call; returns the end of each. */
  executeBatch(attempts: readonly Attempt[], handler: Handler): Promise<HandlerEnd>[] {
    const { limits } = this.#parts;
    const begun = attempts.filter((attempt) => attempt.begin());
    const members = begun.map((attempt) => {
      const actions = new BatchMemberActions(attempt);
      return { input: attempt.input, context: new Context(attempt.facts, actions, handler, limits) };
    });
    // What the handler logs itself belongs to none of the tasks.
    const ends = runInScope({ requestId: undefined }, () => performBatch(handler, members, limits.maxResultBytes)).then(
      (all) => {
        noteSample(begun, all);
        return all;
      },
    );
    return attempts.map((attempt) => {
      const n = begun.indexOf(attempt);
      return n < 0
        ? Promise.resolve(UNBEGUN)
        : this.#awaitEnd(
            attempt,
            ends.then((all) => all[n] ?? UNBEGUN),
          );
    });
  }

  #awaitEnd(attempt: Attempt, end: Promise<HandlerEnd>): Promise<HandlerEnd> {
    return awaitEnd(attempt, end, (leave) => this.#onOverdue(attempt, end, leave));
  }

  async stop(): Promise<void> {}

  #onOverdue(attempt: Attempt, end: Promise<HandlerEnd>, leave: Leave): NodeJS.Timeout | undefined {
    const { drainTimeoutMs, onStuck } = this.#parts;
    const { exclusive, leaseMs } = attempt.settings;
    attempt.overdue(end);
    const leaveIt = () => {
      attempt.goingOn = end;
      leave();
    };
    if (mayBeLeft(attempt)) {
      leaveIt();
      return undefined;
    }
    return setTimeout(() => (exclusive ? onStuck(attempt) : leaveIt()), Math.max(drainTimeoutMs, leaseMs));
  }
}

/** Whether a handler may continue while its task runs elsewhere; the handler of a canceled task may not. */
function mayBeLeft({ aborted, settings }: Attempt): boolean {
  return aborted === "lease-lost" || (!settings.exclusive && (aborted === "timeout" || aborted === "shutdown"));
}

/** A batch has one service time, not one for each task: that of one that succeeded. */
function noteSample(attempts: readonly Attempt[], ends: readonly HandlerEnd[]): void {
  const last = ends.findLastIndex(({ kind }) => kind === "result");
  for (const [n, attempt] of attempts.entries()) attempt.serviceMs = n === last ? attempt.ranMs : "none";
}

/** What a handler can do with one task of a batch: its log lines have the id, which no scope gives them. */
class BatchMemberActions implements TaskActions {
  readonly #attempt: Attempt;
  #log: Logger | undefined;

  constructor(attempt: Attempt) {
    this.#attempt = attempt;
  }

  get signal() {
    return this.#attempt.signal;
  }

  get handlerLog(): Logger {
    this.#log ??= this.#attempt.handlerLog.child({ requestId: this.#attempt.task.id });
    return this.#log;
  }

  get reporter() {
    return this.#attempt.reporter;
  }

  get steps() {
    return this.#attempt.steps;
  }

  get output() {
    return this.#attempt.output;
  }

  get inSpan(): InSpan | undefined {
    return this.#attempt.inSpan;
  }
}
