import type { HandlerEnd } from "../../engine/attempt/attempt-end.ts";
import type { Handler } from "../../handler/define.ts";
import type { Attempt } from "../attempt/attempt.ts";
import { Context, type HandlerLimits } from "../attempt/task-context.ts";
import { awaitEnd, type Executor, type Leave } from "./executor.ts";
import { perform } from "./perform.ts";

/** What {@link InProcess} needs. */
export interface InProcessParts {
  readonly limits: HandlerLimits;
  /** How long a handler may ignore its signal if its lease is not longer, ms: as long as a running task may take when its process stops. */
  readonly drainTimeoutMs: number;
  /** Called when only the end of this process can end a handler whose task must wait for that end. */
  readonly onStuck: (attempt: Attempt) => void;
}

/** Runs handlers in this process. A handler that ignores its signal cannot be ended here: the task waits for it, or goes on without it. */
export class InProcess implements Executor {
  readonly #parts: InProcessParts;

  constructor(parts: InProcessParts) {
    this.#parts = parts;
  }

  execute(attempt: Attempt, handler: Handler): HandlerEnd | Promise<HandlerEnd> {
    const { limits } = this.#parts;
    const context = new Context(attempt.facts, attempt, handler, limits);
    attempt.begin();
    const end = perform(handler, attempt.input, context, limits.maxResultBytes);
    if (!(end instanceof Promise)) return end;
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
