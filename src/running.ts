/** What has been started. Apart from server.ts, so that the types of the package do not lead to the engine. */

import type { SampleCall } from "./handler/sample-call.ts";
import type { QueueRow } from "./store/line/queue.ts";

/** A door of a server that has started. */
export interface RunningDoor {
  /** Where it listens. */
  readonly url: string;
  /** Where it listens and what is behind it, for people. */
  readonly description: string;
}

/** A server that has started. */
export interface Running {
  /** Where it listens; undefined for a worker without PORT. */
  readonly url: string | undefined;
  readonly doors: readonly RunningDoor[];
  readonly queues: readonly string[];
  /** A submission of a sample to one of its queues; undefined without a queue. */
  readonly sample: SampleCall | undefined;
  /** Which store, and where its data is. */
  readonly store: string;
  /** Resolves when only the end of this process ends a handler that ignores its signal; undefined without a worker in it. */
  readonly stuck?: Promise<void> | undefined;
  /** Reads the file of API keys again; of several processes, replaces them one at a time. */
  reload(): void;
  /** What a stop waits for; absent where other processes do the work. */
  busy?(): Promise<{ readonly tasks: number; readonly connections: number }>;
  /**
   * Accepts no new connections, answers waiting callers while the worker continues, lets running tasks end, then closes
   * everything. Idempotent.
   * @param withinMs how long answers and running tasks together may take; default DRAIN_TIMEOUT
   * @param replaced whether another process serves this port from now on
   */
  stop(withinMs?: number, replaced?: boolean): Promise<void>;
}

/** A server in this process. */
export interface Started extends Running {
  /** The figures of all its queues, also of its own ones for webhooks and undo. */
  figures(): Promise<readonly QueueRow[]>;
}
