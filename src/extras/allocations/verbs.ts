import { named, names, verb, verbOnOne, word, written } from "../../store/verbs/codec.ts";
import { number, text } from "../../store/verbs/reply.ts";

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
export const allocate = verb({
  layout: { args: ALLOCATION, answer: ANSWER },
  write: (of: Allocation) => written(ALLOCATION, of),
  read: (reply): AllocationAnswer => {
    const { verdict, waiting, scheduled } = named(ANSWER, reply);
    return { verdict: word(verdict), waiting: number(waiting), scheduled: number(scheduled) };
  },
});

/** What was stored with an id; null if it was not allocated or has expired. */
export const allocation = verbOnOne<Pick<Allocation, "id">, string | null>(["id"], (reply) => text(reply) || null);

/** Releases an allocated id. */
export const deallocate = verbOnOne<Pick<Allocation, "id" | "queue">, string>(["id", "queue"]);
