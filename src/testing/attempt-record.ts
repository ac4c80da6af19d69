import type { Problem } from "../handler/intents.ts";
import { createLog, type Logger } from "../log.ts";
import type { StepVerdict, StoredStep } from "../store/task/attempt.ts";
import type { Progress } from "../workers/attempt/reporter.ts";
import type { StepStore } from "../workers/attempt/steps.ts";

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

/** What becomes of a task after an attempt that did not succeed. */
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

/** A line of a log. */
export interface LogEntry {
  /** `info`, `warn` … */
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** A log that keeps its lines, of every level. */
export function recordedLog(): { readonly log: Logger; readonly entries: readonly LogEntry[] } {
  const entries: LogEntry[] = [];
  const write = (line: string): void => {
    // Tests do not depend on the process id and the time.
    const { level, pid: _pid, time: _time, msg = "", ...fields } = JSON.parse(line);
    entries.push({ level: log.levels.labels[level] ?? String(level), msg, ...fields });
  };
  const log: Logger = createLog("trace", { destination: { write } });
  return { log, entries };
}

/** The steps of a task, in memory. */
export class StepRecord implements StepStore {
  readonly #steps = new Map<string, StoredStep>();

  /** @param done values of steps that an earlier attempt has done */
  constructor(done: Readonly<Record<string, unknown>> = {}) {
    for (const [name, value] of Object.entries(done)) this.#put(name, JSON.stringify(value) ?? "null");
  }

  /** The values of the steps that are done, by name, in the order in which they began. */
  get values(): Record<string, unknown> {
    const done = [...this.#steps].flatMap(([name, { json }]) => (json === undefined ? [] : [[name, JSON.parse(json)]]));
    return Object.fromEntries(done);
  }

  async load(): Promise<Map<string, StoredStep>> {
    return new Map(this.#steps);
  }

  async begin(name: string): Promise<StepVerdict> {
    this.#put(name, undefined);
    return "ok";
  }

  async keep(name: string, json: string): Promise<StepVerdict> {
    this.#put(name, json);
    return "ok";
  }

  async undone(): Promise<StepVerdict> {
    return "ok";
  }

  #put(name: string, json: string | undefined): void {
    const number = this.#steps.get(name)?.number ?? this.#steps.size + 1;
    this.#steps.set(name, { number, json, undo: "none" });
  }
}
