import type { Handler } from "../../handler/define.ts";
import type { TaskContext } from "../../handler/task-context.ts";
import { undoOf } from "../../handler/undos.ts";
import type { Logger } from "../../log.ts";
import { type TraceHeaders, traceHeadersOf } from "../../trace/trace-context.ts";
import { type InSpan, SPANS } from "../../trace/tracing.ts";
import { Output, type OutputStore } from "./output.ts";
import { type StepStore, Steps } from "./steps.ts";

/** The facts about a task for its handler: plain data that can be sent to another process. */
export interface TaskFacts {
  readonly id: string;
  readonly queue: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly fence: string;
  /** JSON; "" if empty. */
  readonly query: string;
  readonly mediaType: string;
  readonly createdMs: number;
  readonly caller: string;
  /** Its trace context: traceparent, then perhaps a space and tracestate; "" if there is none. */
  readonly trace: string;
}

/** How much a handler may produce. */
export interface HandlerLimits {
  /** For a result, and for the value of a step. */
  readonly maxResultBytes: number;
  /** For the whole output of a task, as JSON. */
  readonly maxOutputBytes: number;
}

/** What a handler can do with its task. Members are read only when a handler uses them, since most use none. */
export interface TaskActions {
  readonly signal: AbortSignal;
  /** The log of the handler. */
  readonly handlerLog: Logger;
  readonly reporter: { report(percent: number, message: string): void };
  /** Stores its steps. */
  readonly steps: StepStore;
  /** Stores what it writes. */
  readonly output: OutputStore;
  /** Makes spans; undefined if the task is not traced here. */
  readonly inSpan?: InSpan | undefined;
}

/**
 * The second argument of a handler. A class, since V8 creates a hidden class for each object literal with getters, which lives
 * until the next major collection and keeps everything of the task in memory.
 */
export class Context implements TaskContext {
  readonly id: string;
  readonly queue: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly fence: number;
  readonly query: Readonly<Record<string, string>>;
  readonly mediaType: string;
  readonly submittedAt: Date;
  readonly caller: string | null;
  readonly #actions: TaskActions;
  readonly #handler: Pick<Handler, "undo">;
  readonly #limits: HandlerLimits;
  readonly #trace: string;
  #durable: Steps | undefined;
  #progress: TaskContext["progress"] | undefined;
  #step: TaskContext["step"] | undefined;
  #write: TaskContext["write"] | undefined;
  #output: Output | undefined;

  constructor(facts: TaskFacts, actions: TaskActions, handler: Pick<Handler, "undo">, limits: HandlerLimits) {
    this.id = facts.id;
    this.queue = facts.queue;
    this.attempt = facts.attempt;
    this.maxAttempts = facts.maxAttempts;
    this.fence = Number(facts.fence);
    this.query = facts.query === "" ? {} : (JSON.parse(facts.query) as Record<string, string>);
    this.mediaType = facts.mediaType;
    this.submittedAt = new Date(facts.createdMs);
    this.caller = facts.caller === "" ? null : facts.caller;
    this.#actions = actions;
    this.#handler = handler;
    this.#limits = limits;
    this.#trace = facts.trace;
  }

  /** For the server's own handlers. */
  static stepsOf(context: Context): StepStore {
    return context.#actions.steps;
  }

  /**
   * Steps may still run when the handler has ended: if it ran several at once, it ends with the first error. The attempt is not over until
   * all have ended, so that their values are stored and no step is undone while it runs. Output is stored before the end, too. Undefined if
   * there is nothing to wait for.
   */
  settled(): Promise<void> | undefined {
    const [steps, output] = [this.#durable?.settled(), this.#output?.settled()];
    return steps && output ? steps.then(() => output) : (steps ?? output);
  }

  get traceHeaders(): TraceHeaders {
    return traceHeadersOf(this.#trace);
  }

  get [SPANS](): InSpan | undefined {
    return this.#actions.inSpan;
  }

  get signal(): AbortSignal {
    return this.#actions.signal;
  }

  get log(): Logger {
    return this.#actions.handlerLog;
  }

  // Bound functions, since handlers may destructure them; created on demand, since most handlers use none.
  get progress(): TaskContext["progress"] {
    this.#progress ??= (percent, message) => this.#actions.reporter.report(percent, message ?? "");
    return this.#progress;
  }

  get write(): TaskContext["write"] {
    this.#write ??= (value) => {
      this.#output ??= new Output(this.id, this.#actions.output, this.#actions.handlerLog, this.#limits.maxOutputBytes);
      return this.#output.write(value);
    };
    return this.#write;
  }

  get step(): TaskContext["step"] {
    this.#step ??= (name, work) => {
      this.#durable ??= new Steps(
        this.id,
        this.#actions,
        this.#limits.maxResultBytes,
        (undone) => undoOf(this.#handler, undone) !== undefined,
      );
      return this.#durable.step(name, work);
    };
    return this.#step;
  }
}

/** The store of a task's steps, for the server's own handlers. */
export function stepStoreOf(task: TaskContext): StepStore {
  if (!(task instanceof Context)) throw new TypeError("this is not the context of a task that a worker runs");
  return Context.stepsOf(task);
}
