import { jsonVerb } from "../library/verb.ts";

/** Notes that API keys are used now, to the hour; returns how long this hour lasts, ms. `tag` is that of partition 0. */
export const noteKeyUses = jsonVerb<{ readonly keys: readonly string[] }, number>();

/** The hours in which API keys were last used, ms. `tag` is that of partition 0. */
export const keyUses = jsonVerb<object, ReadonlyMap<string, number>>({
  read: (list: readonly string[]) =>
    new Map(list.flatMap((key, n) => (n % 2 === 0 ? [[key, Number(list[n + 1])] as const] : []))),
});
