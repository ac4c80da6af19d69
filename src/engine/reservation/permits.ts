import type { Keys } from "../../store/keys.ts";
import { BATCH_LIMIT, type Reservation, type ReservedPart, type Scripts } from "../../store/verbs/scripts.ts";

/**
 * Enforces the rate of queues with several partitions: one of these, chosen by the queue's name, permits each start in any of
 * them. With a single partition, the reservation itself enforces the rate.
 */
export class Permits {
  readonly #scripts: Scripts;
  readonly #keys: Keys;

  constructor(scripts: Scripts, keys: Keys) {
    this.#scripts = scripts;
    this.#keys = keys;
  }

  /**
   * Reserves no more tasks of a partition than may start.
   * @param reserve reserves up to the given number; idempotent for the same reservation
   * @throws ProblemError store-unavailable
   */
  async reserve(
    partition: number,
    request: Reservation,
    rate: NonNullable<Reservation["rate"]>,
    reserve: (count: number) => Promise<ReservedPart>,
  ): Promise<ReservedPart> {
    const { queue, worker, lane = 0, reservation } = request;
    // Requests permits only for tasks that may start: others could use them, and each returned permit wakes everyone who waits for one.
    const startable = await this.#scripts.startable(this.#keys.tag(partition), queue);
    const count = Math.min(request.count, BATCH_LIMIT, startable);
    if (count === 0) return await reserve(0);
    const asked = { queue, request: `${partition} ${worker} ${lane} ${reservation}`, count, rate };
    const home = this.#keys.tag(this.#keys.partitionOfQueue(queue));
    const { permits, pauseMs } = await this.#scripts.permit(home, asked);
    const reserved = await reserve(permits);
    if (permits > 0) {
      // If this fails, permits count from when they were issued, including unused ones.
      await this.#scripts
        .permit(home, { ...asked, used: reserved.part?.given ?? reserved.tasks.length })
        .catch(() => undefined);
    }
    return { ...reserved, pauseMs };
  }
}
