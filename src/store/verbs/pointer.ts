import { counted, named, names, verb } from "./codec.ts";
import { list, optional, text } from "./reply.ts";
import { BATCH_LIMIT } from "./script.ts";

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
  readonly score: string | undefined;
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

const POINTER = names<Pointer>("id", "queue", "caller", "home");
const CHECKED = names<CheckedPointer>("id", "score", "nextMs");
const DUE = ["id", "score", "home"] as const;

/** Writes pointers to tasks that will be stored; whether the tasks exist is first checked after `checkMs`. */
export const point = verb({
  layout: { args: ["checkMs"], item: POINTER },
  confirmed: true,
  write: (items: readonly Pointer[], checkMs: number) => [checkMs, ...counted(POINTER, items)],
  read: (reply, durable): PointerAnswer[] =>
    list(reply).map((answer) => {
      const [verdict, score] = text(answer).split(" ");
      return { verdict: verdict as PointerAnswer["verdict"], score, durable };
    }),
});

/** Deletes the pointers to tasks that have gone; returns those to check next, which no other caller gets for a while. */
export const repoint = verb({
  layout: { args: ["limit", "claimMs"], item: CHECKED, due: DUE },
  write: (checked: readonly CheckedPointer[], { limit = BATCH_LIMIT }: { readonly limit?: number } = {}) => [
    ...[limit, CLAIM_MS],
    ...counted(CHECKED, checked),
  ],
  read: (reply): DuePointer[] =>
    list(reply).map((one) => {
      const { id, score, home } = named(DUE, one);
      return { id: text(id), score: text(score), home: optional(home) };
    }),
});

/** Finds the partitions of tasks that are not in the partition of their id; null for all others. */
export const home = verb({
  layout: { item: ["id"] },
  write: (ids: readonly string[]) => [ids.length, ...ids],
  read: (reply) => list(reply).map(optional),
});
