import { randomUUID } from "node:crypto";
import { PaihaoError } from "../errors.ts";
import type { Keys } from "../store/keys.ts";
import type { Scripts } from "../store/scripts/scripts.ts";

/** An id that a caller was given before there is a task. */
export interface Allocation {
  readonly id: string;
  readonly queue: string;
  readonly caller: string | null;
}

/** How long an id waits for its task, ms. */
const ALLOCATION_MS = 3_600_000;

/** When to ask again for an id of a queue that is full, seconds. */
const FULL_RETRY_S = 5;

/** What an allocated id looks like, so that tasks submitted under other ids are told from those without a look. */
const FORM = /^a-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Hands out ids for tasks that are to come, each bound to a caller and a queue. */
export class Allocations {
  readonly #scripts: Scripts;
  readonly #keys: Keys;

  constructor(scripts: Scripts, keys: Keys) {
    this.#scripts = scripts;
    this.#keys = keys;
  }

  /**
   * A new id, which counts as a task that waits.
   * @param maxWaiting most tasks waiting and scheduled and ids handed out, together
   * @throws PaihaoError queue-full, store-unavailable, store-full
   */
  async allocate(queue: string, caller: string | null, maxWaiting: number): Promise<Allocation> {
    const id = `a-${randomUUID()}`;
    const value = JSON.stringify({ queue, caller });
    const limit = Math.ceil(maxWaiting / this.#keys.partitions);
    const item = { id, value, ttlMs: ALLOCATION_MS, queue, limit };
    const { verdict, waiting, scheduled } = await this.#scripts.allocate(this.#tag(id), item);
    if (verdict === "full") {
      throw new PaihaoError(
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

  /** What an id was allocated for; null when it was not, has been used, or its time is over. */
  async find(id: string): Promise<Allocation | null> {
    const value = isAllocated(id) ? await this.#scripts.allocation(this.#tag(id), id) : null;
    return value === null ? null : { id, ...(JSON.parse(value) as Omit<Allocation, "id">) };
  }

  /** Gives an id back: its task has come, or never will. */
  async drop({ id, queue }: Pick<Allocation, "id" | "queue">): Promise<void> {
    await this.#scripts.deallocate(this.#tag(id), id, queue);
  }

  #tag(id: string): string {
    return this.#keys.tag(this.#keys.partitionOf(id));
  }
}

/** Whether an id is one that was, or could have been, handed out. */
export function isAllocated(id: string): boolean {
  return FORM.test(id);
}
