import type { TaskContext } from "../handler.ts";
import type { Logger } from "../log.ts";
import { type StepStore, Steps } from "./steps.ts";

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
  report(percent: number, message: string): void;
  /** Where its steps are kept; asked for with the first of them. */
  steps(): StepStore;
}

/** What a handler is given beside its input. */
export function taskContext(facts: TaskFacts, means: TaskMeans): TaskContext {
  let durable: Steps | undefined;
  return {
    id: facts.id,
    queue: facts.queue,
    attempt: facts.attempt,
    maxAttempts: facts.maxAttempts,
    fence: Number(facts.fence),
    // Made when they are asked for: most handlers use neither, and a signal is the dearest thing of all here.
    get signal() {
      return means.signal;
    },
    get log() {
      return means.log;
    },
    query: facts.query === "" ? {} : (JSON.parse(facts.query) as Record<string, string>),
    mediaType: facts.mediaType,
    submittedAt: new Date(facts.createdMs),
    caller: facts.caller === "" ? null : facts.caller,
    progress: (percent, message) => means.report(percent, message ?? ""),
    step: (name, work, options) => {
      durable ??= new Steps(facts.id, means.steps());
      return durable.step(name, work, options?.undo !== undefined);
    },
  };
}
