import { TaskAborted } from "../../engine/tasks/attempt-end.ts";
import { jsonText } from "../../handler/json-text.ts";
import type { StepVerdict, StoredStep } from "../../store/task/attempt.ts";
import type { InSpan } from "../../trace/tracing.ts";
import { PermanentError } from "../sandbox/handler-end.ts";

/** Longest name of a step, bytes. */
const NAME_BYTES = 1024;

/** Stores the steps of one attempt. */
export interface StepStore {
  /** The steps by name, in the order in which they began; null if the task no longer belongs to this worker. */
  load(): Promise<Map<string, StoredStep> | null>;
  /** Records that a step is about to begin. With `undo` it can be undone, which must be recorded before its work begins. */
  begin(name: string, undo: boolean): Promise<StepVerdict>;
  /** Stores the value of a step as JSON. */
  keep(name: string, json: string, undo: boolean): Promise<StepVerdict>;
  /** Records that a step has been undone. */
  undone(name: string): Promise<StepVerdict>;
}

/** What the steps need of an attempt. */
interface StepActions {
  readonly steps: StepStore;
  readonly signal: AbortSignal;
  /** Makes a span around the work of each step; undefined if the task is not traced here. */
  readonly inSpan?: InSpan | undefined;
}

/** Another worker has the task now, so this worker's result no longer counts. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost";
  constructor(id: string) {
    super(`task ${id} no longer belongs to this worker`);
  }
}

/** The durable steps of one attempt: a step that an earlier attempt has completed is not repeated. */
export class Steps {
  readonly #id: string;
  readonly #actions: StepActions;
  readonly #maxBytes: number;
  readonly #undoable: (name: string) => boolean;
  #kept: Promise<Map<string, StoredStep>> | undefined;
  readonly #running = new Map<string, Promise<unknown>>();
  readonly #open = new Set<Promise<unknown>>();

  /**
   * @param maxBytes maximum size of a step's value
   * @param undoable whether the handler can undo a step of this name
   */
  constructor(id: string, actions: StepActions, maxBytes: number, undoable: (name: string) => boolean) {
    this.#id = id;
    this.#actions = actions;
    this.#maxBytes = maxBytes;
    this.#undoable = undoable;
  }

  /**
   * A step does not begin if the signal has fired, cancel was requested, or the lease is lost.
   * @throws LeaseLost, TaskAborted, PermanentError (a value, or all of them, too large; too many steps), TypeError (the name, or a value
   *   that is not JSON), ProblemError store-unavailable, and what the work throws
   */
  async step<T>(name: string, work: () => Promise<T> | T): Promise<T> {
    if (typeof name !== "string" || name === "") throw new TypeError("a step needs a name");
    if (Buffer.byteLength(name) > NAME_BYTES) {
      throw new TypeError(`the name of step ${shown(name)} is longer than ${NAME_BYTES} bytes`);
    }
    const running = this.#running.get(name);
    if (running !== undefined) return running as Promise<T>;
    const step = this.#once(name, work);
    this.#running.set(name, step);
    this.#open.add(step);
    const close = () => this.#open.delete(step);
    // A handler that catches the error of its step may retry the step.
    step.then(close, () => close() && this.#running.delete(name));
    return step;
  }

  /** Resolves when no step is running any more. */
  async settled(): Promise<void> {
    while (this.#open.size > 0) await Promise.allSettled(this.#open);
  }

  async #once<T>(name: string, work: () => Promise<T> | T): Promise<T> {
    const { steps: store, signal } = this.#actions;
    const kept = (await this.#load()).get(name);
    if (kept?.json !== undefined) return JSON.parse(kept.json) as T;
    const undo = this.#undoable(name);
    signal.throwIfAborted();
    this.#heed(name, await store.begin(name, undo));
    signal.throwIfAborted();
    const value = await this.#work(name, work);
    this.#heed(name, await store.keep(name, this.#jsonOf(name, value), undo));
    return value;
  }

  #work<T>(name: string, work: () => Promise<T> | T): Promise<T> | T {
    const { inSpan } = this.#actions;
    if (!inSpan) return work();
    // Spans are grouped by name; the part after the colon is a value.
    const [kind = ""] = name.split(":");
    return inSpan({ name: `step ${kind}`, kind: "internal", facts: { "paihao.step": name } }, work);
  }

  #heed(name: string, verdict: StepVerdict): void {
    if (verdict === "stale") throw new LeaseLost(this.#id);
    if (verdict === "canceled" || verdict === "deadline" || verdict === "abandoned") throw new TaskAborted(verdict);
    if (verdict === "many")
      throw new PermanentError(`there is no room for step ${shown(name)}: the task has too many steps`);
    if (verdict === "large") {
      throw new PermanentError(
        `there is no room for step ${shown(name)}: the steps of the task have too many bytes together`,
      );
    }
  }

  #jsonOf(name: string, value: unknown): string {
    const json = jsonText(value, `the value of step ${shown(name)}`) ?? "null";
    const bytes = Buffer.byteLength(json);
    if (bytes > this.#maxBytes) {
      throw new PermanentError(
        `the value of step ${shown(name)} has ${bytes} bytes, more than MAX_RESULT (${this.#maxBytes})`,
      );
    }
    return json;
  }

  #load(): Promise<Map<string, StoredStep>> {
    this.#kept ??= this.#actions.steps.load().then(
      (kept) => {
        if (!kept) throw new LeaseLost(this.#id);
        return kept;
      },
      (error: unknown) => {
        this.#kept = undefined;
        throw error;
      },
    );
    return this.#kept;
  }
}

/** A step's name for an error message, truncated. */
function shown(name: string): string {
  return JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name);
}
