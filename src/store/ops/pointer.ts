import { BATCH_LIMIT, jsonVerb, jsonVerbOnEach } from "../library/verb.ts";

/** How long a pointer that one caller got is not given to others, ms: after that, the caller has probably gone. */
const CLAIM_MS = 60_000;

/** A task in another partition than that of its id. */
export interface Pointer {
  readonly id: string;
  readonly queue: string;
  readonly caller: string;
  /** Its partition. */
  readonly home: number;
}

/** The verdict, see pointer.lua, and whether it has the requested durability. */
export interface PointerAnswer {
  readonly verdict: "new" | "noted" | "taken" | "foreign";
  /** The score of a new pointer, by which it can be deleted. */
  readonly score?: string;
  readonly durable: boolean;
}

/** A pointer that must be checked. */
interface DuePointer {
  readonly id: string;
  readonly score: string;
  /** The partition of the task; null if the pointer itself is gone. */
  readonly home: number | null;
}

/** The result of a check. */
interface CheckedPointer extends Pick<DuePointer, "id" | "score"> {
  /** When to check it again, ms; null if the task has gone. */
  readonly nextMs: number | null;
}

/** Pointers that were checked, and how many to check next. Default: 100; which no other caller gets for a while. */
interface PointerCheck {
  readonly checked: readonly CheckedPointer[];
  readonly limit?: number;
}

/** Writes pointers to tasks that will be stored; whether the tasks exist is first checked after `checkMs`. */
export const point = jsonVerbOnEach<Pointer, PointerAnswer, { readonly checkMs: number }>(
  {},
  {
    confirmed: true,
    read: (answers: readonly Omit<PointerAnswer, "durable">[], { durable }) =>
      answers.map((answer) => ({ ...answer, durable })),
  },
);

/** Deletes the pointers to tasks that have gone; returns those to check next. */
export const repoint = jsonVerb<PointerCheck, readonly DuePointer[]>({
  sent: (of) => ({ limit: BATCH_LIMIT, claimMs: CLAIM_MS, ...of }),
});

/** Finds the partitions of tasks that are not in the partition of their id; null for all others. */
export const home = jsonVerb<readonly string[], readonly (number | null)[]>({ sent: (ids) => ({ items: ids }) });
