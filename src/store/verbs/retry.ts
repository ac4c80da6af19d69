import type { Call } from "./answers.ts";
import type { Script } from "./script.ts";

/** The verdict on the retry of a dead task, see retry.lua. */
export type RetryVerdict = "waiting" | "not-dead" | "undone" | "unknown";

/** Retries dead tasks. */
export const retry =
  (script: Script) =>
  (tag: string, items: readonly ({ id: string } & Call)[]): Promise<RetryVerdict[]> =>
    script.verdicts(tag, items, (t) => [t.id, t.call]);
