import type { Problem } from "../handler/intents.ts";
import type { Progress } from "../workers/attempt/reporter.ts";
import type { LogEntry } from "./recorded-log.ts";

/** What an attempt did, besides returning a result. */
export interface AttemptRecord {
  /** Every call of `task.progress`. */
  readonly progress: readonly Progress[];
  /** Every value of `task.write`. */
  readonly output: readonly unknown[];
  /** The values of all steps that are done, by name: the option `steps` of the next attempt. */
  readonly steps: Readonly<Record<string, unknown>>;
  /** The lines of `task.log`. */
  readonly log: readonly LogEntry[];
}

/** The fate of a task after an attempt that did not succeed. */
interface AttemptEnding {
  /** `retrying` while attempts are left, or if the handler asked for `retryLater`. */
  readonly state: "failed" | "retrying" | "canceled";
  /** The problem that callers get, if the task has failed. */
  readonly problem?: Problem | undefined;
  /** When the next attempt begins, ms; without the random part of the backoff. */
  readonly retryMs?: number | undefined;
}

/** An attempt that did not succeed. Its `cause` is what the handler threw, or why it was aborted. */
export class AttemptFailed extends Error implements AttemptRecord, AttemptEnding {
  override readonly name = "AttemptFailed";
  readonly state: AttemptEnding["state"];
  readonly problem: Problem | undefined;
  readonly retryMs: number | undefined;
  readonly progress: AttemptRecord["progress"];
  readonly output: AttemptRecord["output"];
  readonly steps: AttemptRecord["steps"];
  readonly log: AttemptRecord["log"];

  constructor(
    message: string,
    { ending, record, cause }: { ending: AttemptEnding; record: AttemptRecord; cause: unknown },
  ) {
    super(message, { cause });
    this.state = ending.state;
    this.problem = ending.problem;
    this.retryMs = ending.retryMs;
    this.progress = record.progress;
    this.output = record.output;
    this.steps = record.steps;
    this.log = record.log;
  }
}
