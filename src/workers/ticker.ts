import { varied } from "../backoff.ts";
import type { Engine } from "../engine/engine.ts";
import type { TickReport } from "../engine/upkeep/tick.ts";
import { reasonOf } from "../errors.ts";
import type { Logger } from "../log.ts";
import { Loop, type Role } from "../loop.ts";
import { SHARED } from "../store/constants.ts";

/** Pauses between two ticks if nothing is known to be due sooner, ms: usually, and after some time without leases. */
const PAUSES = { usualMs: 1000, idleMs: 10_000, idleAfterMs: 10_000 } as const;
/** Such a pause is at most this share of the shortest lease, so that the next tick knows of a lease before it can end. */
const IDLE_LEASE_SHARE = 0.6;
/** Shortest pause between two ticks while more is due than one tick handles, ms. */
const MIN_MS = 5;
/** Pause between two checks of pointers while none is due, ms. */
const POINTERS_MS = 30_000;
/** How long after the end of an interval its sample is taken, ms. */
const SAMPLE_LATE_MS = 50;

/** Why time ends a task, and what that means for it, in the log. */
const CAUSES = {
  deadline: "the deadline of the task has passed",
  abandoned: "nobody looks at the task any more",
  longest: "the turn has lasted as long as any may",
} as const;
const CONSEQUENCES = {
  canceled: "it is canceled",
  requested: "its handler is asked to stop",
  failed: "it has failed",
} as const;

/**
 * Runs `engine.upkeep.tick` in every partition, which cancels tasks past their deadline or that nobody looks at, lets due ones join
 * the line, and returns those of lost workers to it. Also samples the histories of queues and checks the pointers to tasks. Every process runs a ticker.
 */
export class Ticker implements Role {
  readonly #engine: Engine;
  readonly #log: Logger;
  readonly #pauses: { readonly [Name in keyof typeof PAUSES]: number };
  /** One for each partition, so that an unreachable one does not affect the others. */
  readonly #loops: readonly Loop[];
  readonly #samplers: readonly Loop[];
  /** Without other partitions there are no pointers. */
  readonly #pointers: readonly Loop[];
  #unlisten: (() => void) | undefined;

  constructor(engine: Engine, log: Logger, pauses: { readonly [Name in keyof typeof PAUSES]: number } = PAUSES) {
    this.#engine = engine;
    this.#log = log;
    this.#pauses = pauses;
    this.#loops = engine.keys.tags.map(
      (_, partition) =>
        new Loop({
          // Longer than any pause: the ticks say when the next one comes.
          intervalMs: 2 * pauses.idleMs,
          tick: this.#ticksOf(partition),
          onError: (error) => log.error({ err: error }, "ticker: a round failed; retrying"),
        }),
    );
    this.#samplers = engine.keys.tags.map(
      (_, partition) =>
        new Loop({
          // Longer than an interval: the turns follow its ends.
          intervalMs: 1.5 * SHARED.bucketMs,
          tick: async () => (await engine.upkeep.sampleHistories(partition)) + SAMPLE_LATE_MS,
          onError: (error) =>
            log.warn({ partition, reason: reasonOf(error) }, "ticker: could not add to the histories; retrying"),
        }),
    );
    this.#pointers = (engine.keys.partitions > 1 ? engine.keys.tags : []).map(
      (_, partition) =>
        new Loop({
          intervalMs: POINTERS_MS,
          tick: async () => ((await engine.upkeep.checkPointers(partition)) ? 0 : undefined),
          onError: (error) =>
            log.warn({ partition, reason: reasonOf(error) }, "ticker: could not check the pointers; retrying"),
        }),
    );
  }

  start(): void {
    // An extra tick for tasks that are due before the next one; that one finds what is due later.
    this.#unlisten ??= this.#engine.upkeep.onDue((partition, delayMs) => this.#loops[partition]?.wakeIn(delayMs));
    for (const loop of [...this.#loops, ...this.#samplers, ...this.#pointers]) loop.start();
  }

  async stop(): Promise<void> {
    this.#unlisten?.();
    this.#unlisten = undefined;
    await Promise.all([...this.#loops, ...this.#samplers, ...this.#pointers].map((loop) => loop.stop()));
  }

  /** The ticks of a partition; each returns the pause before the next one, ms. */
  #ticksOf(partition: number): () => Promise<number> {
    const { usualMs, idleMs, idleAfterMs } = this.#pauses;
    /** When a tick last found a lease, or failed; monotonic. */
    let busyAtMs = performance.now();
    let pausedMs = 0;
    return async () => {
      const ticked = await this.#tick(partition, pausedMs);
      const nowMs = performance.now();
      if (ticked === undefined || ticked.held || ticked.lost.length > 0) busyAtMs = nowMs;
      const isIdle = ticked !== undefined && nowMs - busyAtMs >= idleAfterMs;
      const longMs = isIdle ? Math.min(idleMs, ticked.shortestLeaseMs * IDLE_LEASE_SHARE) : 0;
      pausedMs = longMs > usualMs ? varied(longMs, 1) : 0;
      const pauseMs = varied(Math.max(usualMs, longMs));
      return Math.min(pauseMs, Math.max(MIN_MS, ticked?.nextMs ?? pauseMs));
    };
  }

  /** Undefined if it fails. */
  async #tick(partition: number, pausedMs: number): Promise<TickReport | undefined> {
    try {
      const ticked = await this.#engine.upkeep.tick(partition, pausedMs);
      this.#tell(ticked);
      return ticked;
    } catch (error) {
      this.#log.warn({ partition, reason: reasonOf(error) }, "ticker: the tick of a partition failed; retrying");
      return undefined;
    }
  }

  #tell({ late, lost }: TickReport): void {
    for (const { queue, id, verdict, reason } of late) {
      this.#log.info({ requestId: id, queue }, `${CAUSES[reason]}; ${CONSEQUENCES[verdict]}`);
    }
    for (const { queue, id, worker, losses, outcome } of lost) {
      const line = { requestId: id, queue, worker, losses };
      if (outcome === "dead") this.#log.error(line, "the task lost its worker too often and is dead");
      else if (outcome === "canceled") this.#log.warn(line, "the task lost its worker; its cancel was requested");
      else if (outcome === "released")
        this.#log.warn(
          line,
          "the task lost its worker, which does not count against it: its handler had not begun or ran in a child process; it is back at its place in line",
        );
      else this.#log.warn(line, "the task lost its worker and is back at its place in line");
    }
  }
}
