import type { Call } from "./answers.ts";
import type { Script } from "./script.ts";

/** What became of a dead task that an operator wants tried again: see retry.lua. */
export type RetryVerdict = "waiting" | "not-dead" | "undone" | "unknown";

/** Runs dead tasks again. */
export const retry =
  (script: Script) =>
  (tag: string, items: readonly ({ id: string } & Call)[]): Promise<RetryVerdict[]> =>
    script.verdicts(tag, items, (t) => [t.id, t.call]);
