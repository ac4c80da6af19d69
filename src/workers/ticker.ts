import type { Engine } from "../engine/engine.ts";
import { reasonOf } from "../errors.ts";
import type { Logger } from "../log.ts";
import { Loop, type Role } from "../loop.ts";
import { SHARED } from "../store/constants.ts";

/** Pause between two ticks if nothing is known to be due sooner, ms. */
const TICK_MS = 1000;
/** Shortest pause between two ticks while more is due than one tick handles, ms. */
const LEAST_MS = 5;
/** Pause between two checks of pointers while none is due, ms. */
const POINTERS_MS = 10_000;
/** So long after the end of an interval its sample is taken, ms. */
const SAMPLE_LATE_MS = 50;
/** Maximum number of timers for tasks that are due soon; the rest is left to the regular ticks. */
const TIMERS_MOST = 100;

/**
 * Runs `engine.tick` in every partition: tasks past their deadline are canceled, due ones join the line, those of lost workers
 * return to it. Samples the histories of queues and checks the pointers of keyed ones too. Every process runs one.
 */
export class Ticker implements Role {
  readonly #engine: Engine;
  readonly #log: Logger;
  /** One for each partition, so that an unreachable one does not affect the others. */
  readonly #loops: readonly Loop[];
  readonly #samplers: readonly Loop[];
  /** Without other partitions there are no pointers. */
  readonly #pointers: readonly Loop[];
  #unlisten: (() => void) | undefined;
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(engine: Engine, log: Logger) {
    this.#engine = engine;
    this.#log = log;
    this.#loops = engine.keys.tags.map(
      (_, partition) =>
        new Loop({
          intervalMs: TICK_MS,
          tick: () => this.#tick(partition),
          onError: (error) =>
            log.warn({ partition, reason: reasonOf(error) }, "ticker: the tick of a partition failed; retrying"),
        }),
    );
    this.#samplers = engine.keys.tags.map(
      (_, partition) =>
        new Loop({
          // Longer than an interval: the turns follow its ends.
          intervalMs: 1.5 * SHARED.bucketMs,
          tick: async () => (await engine.sampleHistories(partition)) + SAMPLE_LATE_MS,
          onError: (error) =>
            log.warn({ partition, reason: reasonOf(error) }, "ticker: could not add to the histories; retrying"),
        }),
    );
    this.#pointers = (engine.keys.partitions > 1 ? engine.keys.tags : []).map(
      (_, partition) =>
        new Loop({
          intervalMs: POINTERS_MS,
          tick: async () => ((await engine.checkPointers(partition)) ? 0 : undefined),
          onError: (error) =>
            log.warn({ partition, reason: reasonOf(error) }, "ticker: could not check the pointers; retrying"),
        }),
    );
  }

  start(): void {
    this.#unlisten ??= this.#engine.onDue((partition, delayMs) => this.#dueIn(partition, delayMs));
    for (const loop of [...this.#loops, ...this.#samplers, ...this.#pointers]) loop.start();
  }

  async stop(): Promise<void> {
    this.#unlisten?.();
    this.#unlisten = undefined;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    await Promise.all([...this.#loops, ...this.#samplers, ...this.#pointers].map((loop) => loop.stop()));
  }

  /** A task that is due before the next regular tick gets its own tick; the regular ones find the others. */
  #dueIn(partition: number, delayMs: number): void {
    if (delayMs >= TICK_MS || this.#timers.size >= TIMERS_MOST) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#loops[partition]?.wake();
    }, delayMs);
    this.#timers.add(timer);
  }

  async #tick(partition: number): Promise<number> {
    const { lost, late, nextMs } = await this.#engine.tick(partition);
    for (const { queue, id, verdict } of late) {
      const line = { requestId: id, queue };
      if (verdict === "canceled") this.#log.info(line, "the deadline of the task has passed; it is canceled");
      else this.#log.info(line, "the deadline of the running task has passed; its handler is asked to stop");
    }
    for (const { queue, id, worker, losses, fate } of lost) {
      const line = { requestId: id, queue, worker, losses };
      if (fate === "dead") this.#log.error(line, "the task lost its worker too often and is dead");
      else if (fate === "canceled") this.#log.warn(line, "the task lost its worker; its cancel was requested");
      else if (fate === "released")
        this.#log.warn(line, "the task lost its worker before its handler began and is back at its place in line");
      else this.#log.warn(line, "the task lost its worker and is back at its place in line");
    }
    return Math.max(LEAST_MS, nextMs ?? TICK_MS);
  }
}
