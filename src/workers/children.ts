import { messageOf } from "../errors.ts";
import type { Attempt } from "./attempt.ts";
import { Cell } from "./cell.ts";
import { openChild } from "./child-port.ts";
import { type Executor, started } from "./executor.ts";
import { describe, type Outcome } from "./outcome.ts";

/** Most child processes at once; further suspects wait for one of them to end. */
const MOST_CHILDREN = 8;

/**
 * Runs each handler in a child process of its own. This is for suspects, tasks that have lost a worker before: if one of them
 * kills its process again, it is known that it was this one, and nothing else dies with it.
 */
export class Children implements Executor {
  readonly #options: { readonly handlersDir: string; readonly maxResultBytes: number };
  readonly #all = new Set<Cell>();
  readonly #waiting: (() => void)[] = [];
  #busy = 0;

  constructor(options: { handlersDir: string; maxResultBytes: number }) {
    this.#options = options;
  }

  async execute(attempt: Attempt): Promise<Outcome> {
    const turn = this.#turn();
    const canceled = await started(attempt, turn);
    if (canceled) {
      // Its turn comes all the same, and is passed on.
      void turn.then(() => this.#next());
      return canceled;
    }
    let cell: Cell | undefined;
    try {
      cell = new Cell(openChild(), this.#options);
      this.#all.add(cell);
      return (await started(attempt, cell.ready)) ?? (await cell.run(attempt));
    } catch (error) {
      // The handler has not begun: it is not what ended the process.
      return { kind: "error", error: describe(new Error(`no process for the handler: ${messageOf(error)}`)) };
    } finally {
      if (cell) this.#all.delete(cell);
      await cell?.kill();
      this.#next();
    }
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#all].map((cell) => cell.kill()));
  }

  #turn(): Promise<void> {
    if (this.#busy < MOST_CHILDREN) {
      this.#busy += 1;
      return Promise.resolve();
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Passes the turn of one that has ended on. */
  #next(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#busy -= 1;
  }
}
