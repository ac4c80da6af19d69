import type { HandlerEnd } from "../../engine/tasks/attempt-end.ts";
import { StartError } from "../../errors.ts";
import type { Handler } from "../../handler/define.ts";
import { isInternalQueue } from "../../handler/internal-queues.ts";
import type { Logger } from "../../log.ts";
import type { ReservedTask } from "../../store/line/reserve.ts";
import type { Attempt } from "../attempt/attempt.ts";
import { isStandIn, type StandIn } from "../stand-in.ts";
import { Children } from "./children.ts";
import type { Executor } from "./executor.ts";
import { InProcess, type InProcessParts } from "./in-process.ts";

/** The options of {@link Executors}. */
export interface ExecutorsOptions extends InProcessParts {
  readonly handlers: ReadonlyMap<string, Handler>;
  /** Where the handlers' files are; undefined when they were not loaded from files. */
  readonly handlersDir: string | undefined;
  readonly log: Logger;
}

/**
 * Decides where each attempt runs: in this process, or in a child process if its handler sets `isolate` or the task is a suspect (it has
 * lost a worker).
 */
export class Executors {
  readonly #inProcess: InProcess;
  /** The child processes of the queues whose handlers set `isolate`. */
  readonly #isolated = new Map<string, Children>();
  /** Those of all other suspects; undefined if the handlers are in no files, so that no child can load them. */
  readonly #suspects: Children | undefined;
  /** The handlers that work on behalf of others. */
  readonly #standIns: ReadonlyMap<string, StandIn>;
  readonly #log: Logger;

  constructor(options: ExecutorsOptions) {
    const { handlers, handlersDir, limits, log } = options;
    this.#log = log;
    this.#inProcess = new InProcess(options);
    const standIns = [...handlers.values()].filter(isStandIn);
    this.#standIns = new Map(standIns.map((handler) => [handler.queue, handler]));
    const modules = [...new Set(standIns.map(({ module }) => module))];
    if (handlersDir !== undefined)
      this.#suspects = new Children({ handlersDir, modules, limits, log, inWorker: this.#inProcess });
    for (const { queue, isolate } of handlers.values()) {
      if (isolate === undefined) continue;
      if (handlersDir === undefined) {
        throw new StartError(
          `the handler of queue "${queue}" asks for isolate, but a child process can only load handlers from files: give the path of their directory`,
        );
      }
      this.#isolated.set(queue, new Children({ handlersDir, modules, limits, log, memoryMb: isolate.memoryMb }));
    }
  }

  /** Where an attempt at a task is to run. */
  of(task: ReservedTask, queue: string): Executor {
    const isolated = this.#isolated.get(this.#standIns.get(queue)?.subjectOf(task.id) ?? queue);
    if (isolated !== undefined) return isolated;
    if (task.lost === 0 || !this.#isInFiles(queue)) return this.#inProcess;
    if (this.#suspects !== undefined) return this.#suspects;
    this.#log.warn(
      "sandbox: the task has lost a worker, but its handler is in no file that a child process could load",
    );
    return this.#inProcess;
  }

  /**
   * Whether another suspect of a queue may come: there are only so many children for them. Those of an isolated queue have children as all
   * its tasks, and those whose handlers are in no file run in this process.
   */
  admitsSuspect(queue: string): boolean {
    return !this.#hasSuspects(queue) || this.#suspects?.admitsSuspect !== false;
  }

  /** Suspects of a queue may come soon. Children of an isolated queue are there as long as it has tasks. */
  expectSuspect(queue: string): void {
    if (this.#hasSuspects(queue)) this.#suspects?.expect();
  }

  /** Runs tasks of one queue in one call; returns the end of each. */
  executeBatch(attempts: readonly Attempt[], handler: Handler): Promise<HandlerEnd>[] {
    return this.#inProcess.executeBatch(attempts, handler);
  }

  async stop(): Promise<void> {
    const all = [this.#inProcess, ...this.#isolated.values(), ...(this.#suspects ? [this.#suspects] : [])];
    await Promise.all(all.map((executor) => executor.stop()));
  }

  /** Whether suspects of a queue run in children of their own. */
  #hasSuspects(queue: string): boolean {
    return !this.#isolated.has(queue) && this.#isInFiles(queue);
  }

  /** Of the server's own handlers, only those that work on behalf of others need the handler files. */
  #isInFiles(queue: string): boolean {
    return this.#standIns.has(queue) || !isInternalQueue(queue);
  }
}
