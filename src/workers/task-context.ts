import type { TaskContext } from "../handler.ts";
import type { Logger } from "../log.ts";
import type { Reporter } from "./reporter.ts";
import type { Steps } from "./steps.ts";

/** What a handler is told of its task: plain data, which crosses to another thread or process as it is. */
export interface TaskFacts {
  readonly id: string;
  readonly queue: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly fence: string;
  /** JSON, "" for none. */
  readonly query: string;
  readonly mediaType: string;
  readonly createdMs: number;
  readonly caller: string;
}

/** What a handler can do with its task. */
export interface TaskMeans {
  readonly signal: AbortSignal;
  readonly log: Logger;
  readonly reporter: Reporter;
  readonly steps: Steps;
}

/** What a handler is given beside its input. */
export function taskContext(facts: TaskFacts, { signal, log, reporter, steps }: TaskMeans): TaskContext {
  return {
    id: facts.id,
    queue: facts.queue,
    attempt: facts.attempt,
    maxAttempts: facts.maxAttempts,
    fence: Number(facts.fence),
    signal,
    log,
    query: facts.query === "" ? {} : (JSON.parse(facts.query) as Record<string, string>),
    mediaType: facts.mediaType,
    submittedAt: new Date(facts.createdMs),
    caller: facts.caller === "" ? null : facts.caller,
    progress: (percent, message) => reporter.report(percent, message ?? ""),
    step: (name, work, options) => steps.step(name, work, options?.undo !== undefined),
  };
}
