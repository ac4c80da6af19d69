import type { HandlerEnd } from "../../engine/attempt-end.ts";
import { messageOf } from "../../errors.ts";
import type { Attempt } from "../attempt.ts";
import { type Executor, started } from "./executor.ts";
import { errorRecord } from "./handler-end.ts";
import { Cell } from "./sandbox.ts";
import { openThread } from "./thread-port.ts";

/**
 * Runs the handlers of one queue in threads: what holds the CPU holds up nothing else, and can be ended. Threads are started when
 * they are needed and used again; there are never more than attempts under way at once, which are at most the queue's slots.
 */
export class Threads implements Executor {
  readonly #options: { readonly handlersDir: string; readonly maxResultBytes: number };
  readonly #memoryMb: number;
  readonly #idle: Cell[] = [];
  readonly #all = new Set<Cell>();
  #stopped = false;

  constructor(options: { handlersDir: string; maxResultBytes: number }, memoryMb: number) {
    this.#options = options;
    this.#memoryMb = memoryMb;
  }

  async execute(attempt: Attempt): Promise<HandlerEnd> {
    let cell: Cell | undefined;
    try {
      cell = this.#take();
      const end = (await started(attempt, cell.ready)) ?? (await cell.run(attempt));
      // No process has died, only a thread: the attempt failed.
      return end.kind === "lost" ? { kind: "error", error: errorRecord(new Error(end.how)) } : end;
    } catch (error) {
      return { kind: "error", error: errorRecord(new Error(`no thread for the handler: ${messageOf(error)}`)) };
    } finally {
      if (cell) this.#giveBack(cell);
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all([...this.#all].map((cell) => cell.kill()));
  }

  #take(): Cell {
    for (let cell = this.#idle.pop(); cell; cell = this.#idle.pop()) {
      if (cell.alive) return cell;
      this.#all.delete(cell);
    }
    const cell = new Cell(openThread(this.#memoryMb), this.#options);
    this.#all.add(cell);
    return cell;
  }

  #giveBack(cell: Cell): void {
    if (cell.alive && !this.#stopped) this.#idle.push(cell);
    else {
      this.#all.delete(cell);
      void cell.kill();
    }
  }
}
