import { OF_INPUT } from "../../wire/submit-options.ts";
import { names, verb, written } from "./codec.ts";
import { text } from "./reply.ts";
import { type LimitReached, limitReached, type SubmitItem } from "./submit.ts";

/** The new input of a task. */
interface Replacement extends Pick<SubmitItem, "id" | "input" | "digest" | "mediaType" | "query" | "key" | "options"> {
  /** Unique to this call, see lua/answers.lua. */
  readonly call: string;
  /** Replace only if it has been replaced this often before; left out: any number. */
  readonly revision?: number | undefined;
}

/** The verdict, see update.lua. */
export type UpdateVerdict = "updated" | "conflict" | "changed" | "unknown" | LimitReached;

type Sent = Omit<Replacement, "options"> & SubmitItem["options"];

/** What goes with the input, in fields of these names. */
const REPLACED = names<Sent>("mediaType", "query", ...OF_INPUT);
const ARGS = names<Sent>("id", "input", "digest", "call", "revision", "key", ...REPLACED);

/** Replaces the input of a task that has not begun. */
export const update = verb({
  layout: { args: ARGS, replaced: REPLACED },
  write: ({ options, ...replacement }: Replacement) => written(ARGS, { ...options, ...replacement }),
  read: (reply): UpdateVerdict => {
    const verdict = text(reply);
    return verdict.startsWith("too-many ") ? limitReached(verdict.split(" ")) : (verdict as UpdateVerdict);
  },
});
