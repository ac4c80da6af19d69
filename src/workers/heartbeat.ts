import type { Engine } from "../engine/engine.ts";
import type { AboutWorker } from "../engine/monitoring/workers.ts";
import { reasonOf } from "../errors.ts";
import type { Logger } from "../log.ts";
import { Loop, type Role } from "../loop.ts";
import type { SlotBatch } from "../store/line/snapshot.ts";
import type { HeartbeatAnswer } from "../store/line/worker.ts";

/** How often a worker sends a heartbeat, and how long one is valid, ms. */
const HEARTBEAT = { intervalMs: 5000, ttlMs: 15_000 } as const;

/** Reports the slots of this worker process for each queue to the store; estimates depend on it. */
export class Heartbeat implements Role {
  readonly #engine: Engine;
  readonly #worker: string;
  readonly #slots: () => ReadonlyMap<string, number>;
  readonly #loop: Loop;
  readonly #heard: Promise<void>;
  #hear = () => {};

  /** @param onBeat called with each answer; returns whether the slots have changed by it, which is reported at once */
  constructor(
    engine: Engine,
    {
      worker,
      about,
      slots,
      batches,
      onBeat,
    }: {
      worker: string;
      about: AboutWorker;
      slots(): ReadonlyMap<string, number>;
      batches: ReadonlyMap<string, SlotBatch>;
      onBeat(answer: HeartbeatAnswer): boolean;
    },
    log: Logger,
  ) {
    this.#engine = engine;
    this.#worker = worker;
    this.#slots = slots;
    this.#heard = new Promise((resolve) => {
      this.#hear = resolve;
    });
    let again = false;
    let quiet = false;
    this.#loop = new Loop({
      intervalMs: HEARTBEAT.intervalMs,
      tick: async () => {
        try {
          const options = { about, again, quiet, batches };
          const answer = await engine.workers.heartbeat(worker, HEARTBEAT.ttlMs, slots(), options);
          quiet = answer.quiet;
          again = !onBeat(answer);
          this.#hear();
          return again ? undefined : 0;
        } catch (error) {
          again = false;
          log.warn({ reason: reasonOf(error) }, "heartbeat: could not reach the store; retrying");
          return undefined;
        }
      },
      onError: (error) => log.error({ err: error }, "heartbeat: a round failed; retrying"),
    });
  }

  /** Resolves when the first one is answered: until then it is not known what operators have set. Also if it is stopped before. */
  start(): Promise<void> {
    this.#loop.start();
    return this.#heard;
  }

  /** Sends the next one now: its answer says what has changed. */
  hurry(): void {
    this.#loop.wake();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    this.#hear();
    // Otherwise the slots would be counted until the last heartbeat expires.
    await this.#engine.workers.heartbeat(this.#worker, 0, this.#slots()).catch(() => undefined);
  }
}
