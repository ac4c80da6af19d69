import type { Call } from "./answers.ts";
import { names, verb, written } from "./codec.ts";
import { text } from "./reply.ts";
import { type LimitReached, limitReached, type SubmitItem } from "./submit.ts";

/** The new input of a task. */
interface Replacement extends Call, Pick<SubmitItem, "id" | "input" | "digest" | "mediaType" | "query" | "key"> {
  /** Replace only if it has been replaced this often before; left out: any number. */
  readonly revision?: number | undefined;
}

/** The verdict, see update.lua. */
export type UpdateVerdict = "updated" | "conflict" | "changed" | "unknown" | LimitReached;

const REPLACEMENT = names<Replacement>(
  ...(["id", "input", "digest", "mediaType", "query", "call", "revision", "key"] as const),
);

/** Replaces the input of a task that has not begun. */
export const update = verb(
  { args: REPLACEMENT },
  (script) =>
    async (tag: string, replacement: Replacement): Promise<UpdateVerdict> => {
      const verdict = text(await script.text(tag, written(REPLACEMENT, replacement)));
      return verdict.startsWith("too-many ") ? limitReached(verdict.split(" ")) : (verdict as UpdateVerdict);
    },
);
