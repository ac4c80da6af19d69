import { z } from "zod";
import { FILTER_FORMS, LISTS, type ListName } from "./list-filter.ts";

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
