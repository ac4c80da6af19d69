import { messageOf } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import { Loop, type Role } from "../../loop.ts";
import type { Metrics } from "../../metrics/metrics.ts";
import type { QueueSnapshot } from "../../store/line/snapshot.ts";
import type { Inspector } from "../watch/inspect.ts";
import { estimate } from "./estimate.ts";

/** One of this many estimates is compared with the actual start. */
const ONE_IN = 20;
/** Maximum number of estimates remembered at once. */
const REMEMBERED = 500;
/** How often the actual starts are looked up, ms. */
const LOOK_MS = 5000;
/** The store keeps times in whole milliseconds. */
const TOLERANCE_MS = 1;

/** From the task's creation. */
interface GivenEstimate {
  readonly queue: string;
  readonly lowMs: number;
  readonly highMs: number;
}

/** A sample of the estimates given to callers, by task. */
export class EstimateSample {
  readonly given = new Map<string, GivenEstimate>();
  #offered = 0;

  /** Remembers the estimate of an accepted task if it is part of the sample. */
  offer(id: string, index: number | null, snapshot: QueueSnapshot): void {
    this.#offered += 1;
    if (this.#offered % ONE_IN !== 0 || this.given.size >= REMEMBERED) return;
    const eta = estimate(snapshot, { state: "waiting", index }, 0);
    if (eta?.basis !== "history") return;
    this.given.set(id, { queue: snapshot.queue, lowMs: eta.low * 1000, highMs: eta.high * 1000 });
  }
}

/** Measures the accuracy of estimates: compares a sample of them with the actual starts. */
export class Calibration implements Role {
  readonly #inspector: Pick<Inspector, "inspect">;
  readonly #metrics: Metrics;
  readonly #sample: EstimateSample;
  readonly #loop: Loop;

  constructor(inspector: Pick<Inspector, "inspect">, metrics: Metrics, sample: EstimateSample, log: Logger) {
    this.#inspector = inspector;
    this.#metrics = metrics;
    this.#sample = sample;
    this.#loop = new Loop({
      intervalMs: LOOK_MS,
      tick: () => this.#tick(),
      onError: (error) =>
        log.debug({ reason: messageOf(error) }, "calibration: could not look up the starts of tasks; retrying"),
    });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #tick(): Promise<undefined> {
    await Promise.all([...this.#sample.given].map(([id, given]) => this.#look(id, given)));
    return undefined;
  }

  async #look(id: string, { queue, lowMs, highMs }: GivenEstimate): Promise<void> {
    const seen = await this.#inspector.inspect(id, { result: false });
    if (seen?.state === "waiting") return;
    this.#sample.given.delete(id);
    // A second attempt overwrites the start, and a canceled task may have none.
    if (!seen || seen.startedMs === null || seen.attempts > 1 || seen.lost > 0) return;
    // Both are times of the store: this process's clock may differ.
    const waitedMs = seen.startedMs - seen.createdMs;
    if (waitedMs < lowMs - TOLERANCE_MS) this.#metrics.estimates.count(queue, "sooner");
    else if (waitedMs > highMs + TOLERANCE_MS) this.#metrics.estimates.count(queue, "later");
    else this.#metrics.estimates.count(queue, "within");
  }
}
