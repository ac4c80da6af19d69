import type { HandlerEnd } from "../../engine/attempt/attempt-end.ts";
import type { Handler } from "../../handler/define.ts";
import type { Attempt } from "../attempt/attempt.ts";
import { Context, type HandlerLimits } from "../attempt/task-context.ts";
import { type Executor, withinGrace } from "./executor.ts";
import { perform } from "./perform.ts";

/** Runs handlers in this process. One that ignores its signal cannot be ended, only abandoned. */
export class InProcess implements Executor {
  readonly #limits: HandlerLimits;

  constructor(limits: HandlerLimits) {
    this.#limits = limits;
  }

  execute(attempt: Attempt, handler: Handler): HandlerEnd | Promise<HandlerEnd> {
    const context = new Context(attempt.facts, attempt, handler, this.#limits);
    attempt.begin();
    const end = perform(handler, attempt.input, context, this.#limits.maxResultBytes);
    return end instanceof Promise ? withinGrace(attempt, end) : end;
  }

  async stop(): Promise<void> {}
}
