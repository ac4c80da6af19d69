import type { Keys } from "../../store/keys.ts";
import type { RequestCopy, Reservation, ReservedPart, Scripts } from "../../store/verbs/scripts.ts";
import type { Completions } from "../attempt/complete.ts";
import type { Homes } from "../partitions/homes.ts";
import { type QueueSettings, retentionOf } from "../settings.ts";
import type { CircuitBreakers } from "./circuit-breakers.ts";
import { Permits } from "./permits.ts";

/** The dependencies of {@link Reservations}. */
export interface ReservationParts {
  readonly scripts: Scripts;
  readonly keys: Keys;
  readonly homes: Homes;
  /** The name of this process in records, as a listener. */
  readonly process: string;
  readonly breakers: CircuitBreakers;
  readonly completions: Completions;
  settings(queue: string): QueueSettings;
}

/** Reserves tasks for workers, as many as the queue's circuit breaker and rate allow, and hands them back. */
export class Reservations {
  readonly #parts: ReservationParts;
  readonly #permits: Permits;

  constructor(parts: ReservationParts) {
    this.#parts = parts;
    this.#permits = new Permits(parts.scripts, parts.keys);
  }

  /** Reserves tasks in one partition. @throws ProblemError store-unavailable */
  reserve(partition: number, request: Reservation): Promise<ReservedPart> {
    const { breakers, settings } = this.#parts;
    if (!settings(request.queue).hasBreaker) return this.#reserveNow(partition, request);
    return breakers.reserve(partition, request, (count) => this.#reserveNow(partition, { ...request, count }));
  }

  #reserveNow(partition: number, request: Reservation): Promise<ReservedPart> {
    const { scripts, keys, homes, process, completions } = this.#parts;
    const { rate } = request;
    const tag = keys.tag(partition);
    const take = (asked: Reservation) =>
      completions.escort(partition, (items) => scripts.reserve(tag, asked, items, process));
    if (keys.partitions === 1) return take(request);
    const from = async (asked: Reservation) => {
      const reserved = await take(asked);
      for (const { id } of reserved.tasks) homes.note(id, partition);
      return reserved;
    };
    if (!rate) return from(request);
    return this.#permits.reserve(partition, request, rate, (count) => from({ ...request, count, rate: undefined }));
  }

  /** Hands back the tasks that a request has reserved in one partition. @throws ProblemError store-unavailable */
  async unreserve(
    partition: number,
    request: Reservation,
    by: Pick<RequestCopy, "holder" | "generation">,
  ): Promise<void> {
    const { scripts, keys, settings } = this.#parts;
    const retention = retentionOf(settings(request.queue));
    await scripts.unreserve(keys.tag(partition), { ...request, ...retention }, by);
  }
}
