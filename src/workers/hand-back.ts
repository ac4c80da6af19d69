import type { Engine } from "../engine/engine.ts";
import type { QueueSettings } from "../engine/settings.ts";
import { failureOf } from "../engine/tasks/attempt-end.ts";
import { reasonOf } from "../errors.ts";
import type { Logger } from "../log.ts";
import type { ReservedTask } from "../store/line/reserve.ts";

/** When a suspect that cannot run here is reserved again, ms: at the earliest, and after the previous suspect. */
const PUT_OFF_MS = { min: 500, each: 10 } as const;

/** Hands back reserved tasks of one queue that cannot run in this process now. */
export class HandBacks {
  readonly #engine: Engine;
  readonly #settings: QueueSettings;
  readonly #log: Logger;
  /** When the last postponed suspect is due, monotonic ms. */
  #putOffUntil = 0;

  constructor(engine: Engine, settings: QueueSettings, log: Logger) {
    this.#engine = engine;
    this.#settings = settings;
    this.#log = log;
  }

  /** There is no slot for it any more, or it is to stop before it has begun: returns it to its place at once. */
  async now({ id, fence }: ReservedTask): Promise<void> {
    this.#log.info({ requestId: id, queue: this.#settings.queue, outcome: "unbegun" }, "pool: handing a task back");
    try {
      await this.#engine.call("release", { queue: this.#settings.queue, id, fence, unbegun: true });
    } catch (error) {
      this.#log.warn(
        { requestId: id, reason: reasonOf(error) },
        "pool: could not release a task without a slot; it waits until its lease ends",
      );
    }
  }

  /** There are enough suspects here, or no slot for this one: it returns to its place a little later, so that the line moves on. */
  later({ id, fence, attempt }: ReservedTask): void {
    const now = performance.now();
    this.#putOffUntil = Math.max(now + PUT_OFF_MS.min, this.#putOffUntil + PUT_OFF_MS.each);
    const end = { kind: "later", afterMs: Math.round(this.#putOffUntil - now), message: "" } as const;
    const failure = failureOf(end, { settings: this.#settings, attempt }, 0);
    const { queue } = this.#settings;
    this.#engine.leases.fail({ queue, id, fence }, failure, this.#settings).catch((error: unknown) => {
      this.#log.warn(
        { requestId: id, reason: reasonOf(error) },
        "pool: could not postpone a task that has lost a worker; it waits until its lease ends",
      );
    });
  }
}
