import { z } from "zod";
import { FILTER_FORMS, LISTS, type ListName } from "./list-filter.ts";
import { count, type Document, text, time } from "./values.ts";

/** The lists on whose tasks each action makes sense. */
const ACTIONS = {
  cancel: ["waiting", "scheduled", "running"],
  retry: ["dead"],
  delete: ["dead", "finished"],
} as const satisfies Readonly<Record<string, readonly ListName[]>>;

/** One step of an action on all tasks of a list that match. */
export const bulkBody = z
  .strictObject({
    action: z.enum(["cancel", "retry", "delete"]),
    list: z.enum(["waiting", "scheduled", "running", "dead", "finished"]),
    caller: z.string().regex(FILTER_FORMS.caller).optional(),
    idPrefix: z.string().regex(FILTER_FORMS.idPrefix).optional(),
    key: z.string().regex(FILTER_FORMS.key).optional(),
    text: z.string().regex(FILTER_FORMS.text).optional(),
    /** Of dead and finished tasks: why they failed, as `/dead/errors` names it. */
    error: z.string().regex(FILTER_FORMS.error).optional(),
    state: z.enum(["scheduled", "retrying", "succeeded", "failed", "canceled"]).optional(),
    /** The minimum time since submission, in seconds. */
    olderThan: z.number().min(0).max(1e9).optional(),
    /** The `next` of the previous step; null or left out for the first step. */
    cursor: z.string().max(10_000).nullable().optional(),
    /** Only counts the tasks that match. */
    dryRun: z.boolean().default(false),
  })
  .refine(({ action, list }) => (ACTIONS[action] as readonly ListName[]).includes(list), {
    error: "the action does not apply to this list",
    path: ["list"],
  })
  .refine(({ list, state }) => state === undefined || (LISTS[list] as readonly string[]).includes(state), {
    error: "no task of this list is in this state",
    path: ["state"],
  });

/** What a step has done. */
export const bulkStep = z.object({
  matched: count.describe("How many tasks matched in this step."),
  done: count.describe("How many of these changed; the others had changed state in the meantime."),
  scanned: count,
  next: text.nullable(),
});
export type BulkStep = Document<typeof bulkStep>;

/** The answer to retrying or deleting all dead tasks of a queue. */
export const retriedDead = z.object({ retried: count });
export type RetriedDead = Document<typeof retriedDead>;
export const deletedDead = z.object({ deleted: count });
export type DeletedDead = Document<typeof deletedDead>;

const deadError = z.object({
  error: text.describe(
    "The code, then, if the handler threw, a colon, a space and the first line of what it threw: the filter `error`.",
  ),
  code: text,
  message: text.describe("That first line, at most 200 bytes; empty if the handler did not throw."),
  count,
  retryable: count.describe("How many of them can be run again; not those whose work is undone."),
  firstAt: time.describe("When the first of them died."),
  lastAt: time,
});
/** What dead tasks of a queue died of. */
export const deadErrors = z.object({
  items: z.array(deadError).describe("The most frequent first, at most 100."),
  others: count.describe("How many tasks died of further errors."),
});
export type DeadErrors = Document<typeof deadErrors>;
export type DeadError = DeadErrors["items"][number];
