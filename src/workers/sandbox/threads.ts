import type { HandlerEnd } from "../../engine/attempt/attempt-end.ts";
import { messageOf } from "../../errors.ts";
import type { Attempt } from "../attempt/attempt.ts";
import type { HandlerLimits } from "../attempt/task-context.ts";
import { type Executor, started } from "./executor.ts";
import { errorRecord } from "./handler-end.ts";
import { Sandbox } from "./sandbox.ts";
import { openThread } from "./thread-port.ts";

/**
 * Runs the handlers of one queue in threads: a handler that uses the CPU blocks nothing else, and can be terminated. Threads are
 * started on demand and reused; there are at most as many as concurrent attempts, so at most as many as slots.
 */
export class Threads implements Executor {
  readonly #options: { readonly handlersDir: string; readonly limits: HandlerLimits };
  readonly #memoryMb: number;
  readonly #idle: Sandbox[] = [];
  readonly #all = new Set<Sandbox>();

  constructor(options: { handlersDir: string; limits: HandlerLimits }, memoryMb: number) {
    this.#options = options;
    this.#memoryMb = memoryMb;
  }

  async execute(attempt: Attempt): Promise<HandlerEnd> {
    let sandbox: Sandbox | undefined;
    try {
      sandbox = this.#take();
      const end = (await started(attempt, sandbox.ready)) ?? (await sandbox.run(attempt));
      // Only a thread died, not the process, so this is a failed attempt and not a loss.
      return end.kind === "lost" ? { kind: "error", error: errorRecord(new Error(end.how)) } : end;
    } catch (error) {
      return { kind: "error", error: errorRecord(new Error(`no thread for the handler: ${messageOf(error)}`)) };
    } finally {
      // If it has ended, the next attempt leaves it out.
      if (sandbox) this.#idle.push(sandbox);
    }
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#all].map((sandbox) => sandbox.kill()));
  }

  #take(): Sandbox {
    for (let sandbox = this.#idle.pop(); sandbox; sandbox = this.#idle.pop()) {
      if (sandbox.alive) return sandbox;
      this.#all.delete(sandbox);
    }
    const sandbox = new Sandbox(openThread(this.#memoryMb), this.#options);
    this.#all.add(sandbox);
    return sandbox;
  }
}
