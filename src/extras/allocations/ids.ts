import { randomUUID } from "node:crypto";
import type { Engine } from "../../engine/engine.ts";
import { ProblemError } from "../../errors.ts";
import type { Keys } from "../../store/keys.ts";
import type { CallsOf } from "../../store/library/scripts.ts";
import * as VERBS from "./verbs.ts";

/** An id that a caller got before its task exists. */
export interface Allocation {
  readonly id: string;
  readonly queue: string;
  readonly caller: string | null;
}

/** How long an allocated id is kept without a task, ms. */
const ALLOCATION_MS = 3_600_000;

/** Retry-After if the queue is full, seconds. */
const FULL_RETRY_S = 5;

/** The form of an allocated id, which distinguishes it from other ids without a look-up. */
const FORM = /^a-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Allocates ids for future tasks, each for one caller and queue. */
export class Allocations {
  readonly #verbs: CallsOf<typeof VERBS>;
  readonly #keys: Keys;
  readonly #events: Engine["events"];

  constructor({ scripts, keys, events }: Pick<Engine, "scripts" | "keys" | "events">) {
    this.#verbs = scripts.of(VERBS);
    this.#keys = keys;
    this.#events = events;
  }

  /**
   * Allocates an id, which counts as a waiting task.
   * @param maxWaiting limit for waiting and scheduled tasks and allocated ids together
   * @throws ProblemError queue-full, store-unavailable, store-full
   */
  async allocate(queue: string, caller: string | null, maxWaiting: number): Promise<Allocation> {
    const id = this.#keys.idIn(this.#keys.partitionOfQueue(queue), () => `a-${randomUUID()}`);
    const value = JSON.stringify({ queue, caller });
    const item = { id, value, ttlMs: ALLOCATION_MS, queue, limit: maxWaiting };
    const { verdict, waiting = 0, scheduled = 0 } = await this.#verbs.allocate(this.#tag(id), item);
    if (verdict === "full") {
      this.#events.full(queue, maxWaiting, waiting + scheduled);
      throw new ProblemError(
        "queue-full",
        "The queue is full: waiting tasks and allocated ids together have reached its limit.",
        {
          extensions: { queue, waiting, scheduled },
          retryAfterS: FULL_RETRY_S,
        },
      );
    }
    return { id, queue, caller };
  }

  /** What an id was allocated for; null if it was not allocated, has been used, or has expired. */
  async find(id: string): Promise<Allocation | null> {
    const value = isAllocated(id) ? await this.#verbs.allocation(this.#tag(id), { id }) : null;
    return value === null ? null : { id, ...(JSON.parse(value) as Omit<Allocation, "id">) };
  }

  /** Removes an allocation: its task was submitted, or never will be. */
  async drop({ id, queue }: Pick<Allocation, "id" | "queue">): Promise<void> {
    await this.#verbs.deallocate(this.#tag(id), { id, queue });
  }

  /** Of the partition of its queue: see {@link allocate}. */
  #tag(id: string): string {
    return this.#keys.tag(this.#keys.partitionOf(id));
  }
}

/** Whether an id has the form of an allocated one. */
export function isAllocated(id: string): boolean {
  return FORM.test(id);
}
