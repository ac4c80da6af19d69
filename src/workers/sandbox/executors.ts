import type { HandlerEnd } from "../../engine/attempt/attempt-end.ts";
import { StartError } from "../../errors.ts";
import type { Handler } from "../../handler/define.ts";
import { INTERNAL_QUEUES } from "../../handler/internal-queues.ts";
import type { Logger } from "../../log.ts";
import type { ReservedTask } from "../../store/verbs/scripts.ts";
import type { Attempt } from "../attempt/attempt.ts";
import { Children } from "./children.ts";
import type { Executor } from "./executor.ts";
import { InProcess, type InProcessParts } from "./in-process.ts";
import { Threads } from "./threads.ts";

/** The options of {@link Executors}. */
export interface ExecutorsOptions extends InProcessParts {
  readonly handlers: ReadonlyMap<string, Handler>;
  /** Where the handlers' files are; undefined when they were not loaded from files. */
  readonly handlersDir: string | undefined;
  readonly log: Logger;
}

/**
 * Decides where each attempt runs: in this process, in a thread if its handler sets `isolate`, apart from others if the task is a suspect.
 */
export class Executors {
  readonly #inProcess: InProcess;
  readonly #threads = new Map<string, Executor>();
  readonly #children: Children | undefined;

  constructor(options: ExecutorsOptions) {
    const { handlers, handlersDir, limits, log } = options;
    this.#inProcess = new InProcess(options);
    if (handlersDir !== undefined) {
      const usual = (task: ReservedTask, queue: string) => this.#usual(task, queue);
      this.#children = new Children({ handlersDir, limits, log, usual });
    }
    for (const { queue, isolate } of handlers.values()) {
      if (isolate === undefined) continue;
      if (handlersDir === undefined) {
        throw new StartError(
          `the handler of queue "${queue}" asks for isolate, but a thread can only load handlers from files: give the path of their directory`,
        );
      }
      this.#threads.set(queue, new Threads({ handlersDir, limits }, isolate.memoryMb));
    }
  }

  /** Where an attempt at a task is to run. */
  of(task: ReservedTask, queue: string): Executor {
    const suspects = task.lost > 0 ? this.suspectsOf(queue) : undefined;
    return suspects ?? this.#usual(task, queue);
  }

  /** Runs tasks of one queue in one call; returns the end of each. */
  executeBatch(attempts: readonly Attempt[], handler: Handler): Promise<HandlerEnd>[] {
    return this.#inProcess.executeBatch(attempts, handler);
  }

  /** Where tasks run that are not suspect. */
  #usual(task: ReservedTask, queue: string): Executor {
    // An undo calls the handler whose work it undoes; the id says which queue that is, see lua/follow.lua.
    const subject = queue === INTERNAL_QUEUES.undo ? task.id.split(":")[2] : queue;
    return this.#threads.get(subject ?? queue) ?? this.#inProcess;
  }

  /** Where suspects of a queue (tasks that have lost a worker) run; undefined if they run like all others. */
  suspectsOf(queue: string): Children | undefined {
    return isInFiles(queue) ? this.#children : undefined;
  }

  /** Tasks have lost their workers lately: some of them may come here. */
  expectSuspects(): void {
    this.#children?.warm();
  }

  /** Nothing runs in this process any more: a suspect may be waiting for that. */
  slotFreed(): void {
    this.#children?.slotFreed();
  }

  async stop(): Promise<void> {
    const all = [this.#inProcess, ...this.#threads.values(), ...(this.#children ? [this.#children] : [])];
    await Promise.all(all.map((executor) => executor.stop()));
  }
}

/** Of the server's own handlers, only that of undos needs the handler files. */
function isInFiles(queue: string): boolean {
  const own: readonly string[] = Object.values(INTERNAL_QUEUES);
  return queue === INTERNAL_QUEUES.undo || !own.includes(queue);
}
