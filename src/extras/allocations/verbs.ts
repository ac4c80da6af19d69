import { jsonVerb } from "../../store/library/verb.ts";

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

/** The verdict, see verbs.lua. */
interface AllocationAnswer {
  readonly verdict: "kept" | "taken" | "full";
  /** The counts of the queue in this partition if it is full. */
  readonly waiting?: number;
  readonly scheduled?: number;
}

/** Reserves an id for a later task; "taken" if it is in use. */
export const allocate = jsonVerb<Allocation, AllocationAnswer>();

/** What was stored with an id; null if it was not allocated or has expired. */
export const allocation = jsonVerb<Pick<Allocation, "id">, string | null>();

/** Releases an allocated id. */
export const deallocate = jsonVerb<Pick<Allocation, "id" | "queue">, null>();
