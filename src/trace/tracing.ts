import type { InSpan } from "./spans.ts";

/** Creates the spans of tasks. The core has none: see src/extras/telemetry. */
export interface Tracing {
  /** Submits a task in a span, whose trace goes with the task. */
  send<T extends { readonly verdict: string }>(
    task: { readonly id: string; readonly queue: string },
    submit: (trace: string) => Promise<T>,
  ): Promise<T>;
  /** Begins to submit many tasks in one span. */
  sendBatch(queue: string): BatchTrace;
  /** Begins the span of an attempt. */
  attempt(task: TracedTask): AttemptTrace;
}

/** The trace of a batch. */
export interface BatchTrace {
  /** That of each of its tasks. */
  readonly trace: string;
  /** Another task belongs to it. */
  add(): void;
  end(): void;
}

/** An attempt at a task, as its worker gets it. */
export interface TracedTask {
  readonly id: string;
  readonly queue: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly lost: number;
  /** The trace of its submitter, "" for none. */
  readonly trace: string;
}

/** The trace of an attempt. */
export interface AttemptTrace {
  /** Its stored form, which makes the attempt the parent of other spans. */
  readonly trace: string;
  /** Runs the attempt. */
  run(work: () => void): void;
  /** Runs a part of the attempt in a span. */
  readonly inSpan: InSpan;
  /**
   * The handler has ended.
   * @param how `result`, or why it did not succeed
   */
  ended(how: string, error: AttemptError | undefined): void;
  /** The end is stored, with this outcome for the task. */
  stored(verdict: string): void;
  /** The attempt is over; its span ends where the handler did. */
  over(): void;
}

/** Why an attempt did not succeed: the error, as far as it is known. */
export interface AttemptError {
  readonly type?: string;
  readonly message: string;
  readonly stack?: string;
}
