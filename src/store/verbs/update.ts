import { verbOnOne } from "./codec.ts";
import { text } from "./reply.ts";
import { type LimitReached, limitReached, type SubmitItem } from "./submit.ts";

/** The new input of a task. */
interface Replacement extends Pick<SubmitItem, "id" | "input" | "digest" | "mediaType" | "query" | "key"> {
  /** Unique to this call, see lua/answers.lua. */
  readonly call: string;
  /** Replace only if it has been replaced this often before; left out: any number. */
  readonly revision?: number | undefined;
}

/** The verdict, see update.lua. */
export type UpdateVerdict = "updated" | "conflict" | "changed" | "unknown" | LimitReached;

/** Replaces the input of a task that has not begun. */
export const update = verbOnOne<Replacement, UpdateVerdict>(
  ["id", "input", "digest", "mediaType", "query", "call", "revision", "key"],
  (reply) => {
    const verdict = text(reply);
    return verdict.startsWith("too-many ") ? limitReached(verdict.split(" ")) : (verdict as UpdateVerdict);
  },
);
