import { named, names, verb, written } from "./codec.ts";
import { number, text } from "./reply.ts";

/** An id to reserve for a later task. */
interface Allocation {
  readonly id: string;
  /** What to store with it. */
  readonly value: string;
  readonly ttlMs: number;
  readonly queue: string;
  /** Maximum number of waiting and scheduled tasks and allocated ids together, in the partition. */
  readonly limit: number;
}

/** The verdict, see allocation.lua. */
interface AllocationAnswer {
  readonly verdict: "kept" | "taken" | "full";
  /** The counts of the queue in this partition if it is full; else 0. */
  readonly waiting: number;
  readonly scheduled: number;
}

const ALLOCATION = names<Allocation>("id", "value", "ttlMs", "queue", "limit");
const ANSWER = ["verdict", "waiting", "scheduled"] as const;

/** Reserves an id for a later task; "taken" if it is in use. */
export const allocate = verb(
  { args: ALLOCATION, answer: ANSWER },
  (script) =>
    async (tag: string, of: Allocation): Promise<AllocationAnswer> => {
      const { verdict, waiting, scheduled } = named(ANSWER, await script.text(tag, written(ALLOCATION, of)));
      return {
        verdict: text(verdict) as AllocationAnswer["verdict"],
        waiting: number(waiting),
        scheduled: number(scheduled),
      };
    },
);

/** What was stored with an id; null if it was not allocated or has expired. */
export const allocation = verb(
  { args: ["id"] },
  (script) =>
    async (tag: string, id: string): Promise<string | null> =>
      text(await script.text(tag, [id])) || null,
);

/** Releases an allocated id. */
export const deallocate = verb(
  { args: ["id", "queue"] },
  (script) => async (tag: string, id: string, queue: string) => {
    await script.text(tag, [id, queue]);
  },
);
