import type { Logger } from "../../log.ts";
import type { Reservation, ReserveAnswer } from "../../store/line/reserve.ts";
import type { Lease } from "../../store/task/lease.ts";

/** Decides beside the line whether work is taken from the queues whose handlers are `gated`. */
export interface Gate {
  /**
   * Reserves as many tasks of the request as it lets through.
   * @param reserve reserves up to the given number; idempotent for the same reservation
   * @throws ProblemError store-unavailable
   */
  reserve(request: Reservation, reserve: (count: number) => Promise<ReserveAnswer>): Promise<ReserveAnswer>;
  /** A worker goes on with a task. Never rejects. */
  renewed(lease: Lease, leaseMs: number): Promise<void>;
  /**
   * An attempt has ended, which is not stored yet. Returns whether the task goes back to its place without using up an attempt. Idempotent.
   * @param noted what its handler has recorded, see handler/noted.ts
   * @throws ProblemError store-unavailable
   */
  ended(lease: Lease, noted: object | undefined, log: Logger): Promise<boolean>;
}
