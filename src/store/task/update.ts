import { OF_INPUT } from "../../wire/submission.ts";
import { argumentOf, jsonVerb } from "../library/verb.ts";
import { type LimitReached, limitReached, type SubmitItem } from "./submit.ts";

/** The new input of a task. */
interface Replacement extends Pick<SubmitItem, "id" | "input" | "digest" | "mediaType" | "query" | "key" | "options"> {
  /** Unique to this call, see library/call.lua. */
  readonly call: string;
  /** Replace only if it has been replaced this often before; left out: any number. */
  readonly revision?: number | undefined;
}

/** The verdict, see update.lua. */
export type UpdateVerdict = "updated" | "conflict" | "changed" | "unknown" | LimitReached;

/** What goes with the input, in fields of these names. */
const FIELDS = ["mediaType", "query", ...OF_INPUT] as const;

/** Replaces the input of a task that has not begun. */
export const update = jsonVerb<Replacement, UpdateVerdict>({
  raw: "input",
  sent: ({ options, mediaType, query, ...of }) => {
    const given = { ...options, mediaType, query };
    return { ...of, fields: Object.fromEntries(FIELDS.map((name) => [name, String(argumentOf(given[name]))])) };
  },
  read: (verdict: string) =>
    verdict.startsWith("too-many ") ? limitReached(verdict.split(" ")) : (verdict as UpdateVerdict),
});
