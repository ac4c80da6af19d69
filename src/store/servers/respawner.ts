import { setTimeout as delay } from "node:timers/promises";
import { backoffMs } from "../../backoff.ts";
import { messageOf } from "../../errors.ts";
import type { Logger } from "../../log.ts";

/** A store process that is ready. */
export interface StoreChild {
  /** Resolves when the process is gone, with how it ended, for a log line. */
  readonly gone: Promise<string>;
  /** Stops the process and resolves when it is gone; idempotent. */
  stop(): Promise<void>;
}

/** A store that this process keeps running until it is stopped. */
export interface ChildStore {
  readonly url: string;
  /** Which store it is, and where its data is. */
  readonly description: string;
  /** Stops it and resolves when it is gone; idempotent. */
  stop(): Promise<void>;
}

export interface RespawnerOptions {
  /** Starts the process on the same socket; gives up when the signal fires. */
  start(signal: AbortSignal): Promise<StoreChild>;
  /** What the loss means for the data: the end of the log line. */
  readonly consequence: string;
  readonly log: Logger;
}

const BACKOFF = { baseMs: 100, maxMs: 5_000 } as const;
/** A process that lived this long is not in a crash loop: it is restarted without a pause. */
const STEADY_MS = 30_000;

/** Restarts a store's process when it ends unexpectedly, with growing pauses. */
export class Respawner {
  readonly #options: RespawnerOptions;
  readonly #stopping = new AbortController();
  readonly #watch: Promise<void>;
  #child: StoreChild;

  constructor(first: StoreChild, options: RespawnerOptions) {
    this.#child = first;
    this.#options = options;
    this.#watch = this.#run();
  }

  /** Stops the process for good; idempotent. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#child.stop();
    await this.#watch;
  }

  async #run(): Promise<void> {
    const { log, consequence } = this.#options;
    const { signal } = this.#stopping;
    let attempts = 0;
    for (;;) {
      const startedAt = performance.now();
      const how = await this.#child.gone;
      if (signal.aborted) return;
      if (performance.now() - startedAt > STEADY_MS) attempts = 0;
      log.error({ how }, `the store ended unexpectedly (${how}); restarting it: ${consequence}`);
      while (!(await this.#revive(++attempts))) if (signal.aborted) return;
      log.warn("the store is running again");
    }
  }

  /** Tries once to restart the process; returns whether it runs. */
  async #revive(attempt: number): Promise<boolean> {
    const { log, start } = this.#options;
    const { signal } = this.#stopping;
    try {
      await delay(backoffMs(BACKOFF, attempt), undefined, { signal });
      const child = await start(signal);
      this.#child = child;
      // stop() may have been called while the new process was starting, when it only knew the old one.
      if (signal.aborted) await child.stop();
      return true;
    } catch (error) {
      // The only thing to do is to try again; meanwhile callers get errors about the unreachable store.
      if (!signal.aborted) log.error({ err: error }, `could not restart the store; trying again: ${messageOf(error)}`);
      return false;
    }
  }
}
