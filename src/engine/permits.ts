import type { Keys } from "../store/keys.ts";
import { BATCH_LIMIT, type Reservation, type ReservedPart, type Scripts } from "../store/scripts/scripts.ts";

/**
 * Keeps the rate of queues that lie in several partitions: one of these, found by the queue's name, permits each start before it is
 * made in another. With a single partition the reservation itself keeps it.
 */
export class Permits {
  readonly #scripts: Scripts;
  readonly #keys: Keys;

  constructor(scripts: Scripts, keys: Keys) {
    this.#scripts = scripts;
    this.#keys = keys;
  }

  /**
   * Reserves no more from a partition than may start.
   * @param reserve reserves as many as it is told; what it took before under the same reservation it tells again
   * @throws PaihaoError store-unavailable
   */
  async reserve(
    partition: number,
    request: Reservation,
    rate: NonNullable<Reservation["rate"]>,
    reserve: (count: number) => Promise<ReservedPart>,
  ): Promise<ReservedPart> {
    const { queue, worker, lane = 0, reservation } = request;
    // Permits that others could use are asked for only where there are tasks.
    const [line] = await this.#scripts.count(this.#keys.tag(partition), [{ queue, scores: [], equals: false }]);
    const count = Math.min(request.count, BATCH_LIMIT, line?.waiting ?? 0);
    if (count === 0) return await reserve(0);
    const asked = { queue, request: `${partition} ${worker} ${lane} ${reservation}`, count, rate };
    const home = this.#keys.tag(this.#keys.partitionOf(queue));
    const { permits, pauseMs } = await this.#scripts.permit(home, asked);
    const reserved = await reserve(permits);
    if (permits > 0) {
      // Should this fail, they count from when they were permitted, and those not used as well.
      await this.#scripts
        .permit(home, { ...asked, used: reserved.part?.given ?? reserved.tasks.length })
        .catch(() => undefined);
    }
    return { ...reserved, pauseMs };
  }
}
