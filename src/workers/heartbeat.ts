import type { Engine } from "../engine/engine.ts";
import type { AboutWorker } from "../engine/monitoring/workers.ts";
import { reasonOf } from "../errors.ts";
import type { Logger } from "../log.ts";
import { Loop, type Role } from "../loop.ts";

/** How often a worker sends a heartbeat, and how long one is valid, ms. */
const HEARTBEAT = { intervalMs: 4000, ttlMs: 15_000 } as const;

/** Reports the slots of this worker process for each queue to the store; estimates depend on it. */
export class Heartbeat implements Role {
  readonly #engine: Engine;
  readonly #worker: string;
  readonly #slots: ReadonlyMap<string, number>;
  readonly #loop: Loop;

  /** @param onBeat called with the time since a task of these queues last lost its worker, ms; infinity if none has */
  constructor(
    engine: Engine,
    {
      worker,
      about,
      slots,
      onBeat,
    }: {
      worker: string;
      about: AboutWorker;
      slots: ReadonlyMap<string, number>;
      onBeat(sinceLossMs: number): void;
    },
    log: Logger,
  ) {
    this.#engine = engine;
    this.#worker = worker;
    this.#slots = slots;
    this.#loop = new Loop({
      intervalMs: HEARTBEAT.intervalMs,
      tick: async () => {
        onBeat(await engine.heartbeat(worker, HEARTBEAT.ttlMs, slots, about));
        return undefined;
      },
      onError: (error) => log.warn({ reason: reasonOf(error) }, "heartbeat: could not reach the store; retrying"),
    });
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    // Otherwise the slots would be counted until the last heartbeat expires.
    await this.#engine.heartbeat(this.#worker, 0, this.#slots).catch(() => undefined);
  }
}
