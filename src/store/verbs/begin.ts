import type { TimedLease } from "./lease.ts";
import type { Script } from "./script.ts";

/** Whether a handler may begin, see begin.lua. */
export type BeginVerdict = "ok" | "cancel" | "deadline" | "stale";

/** Reports that handlers begin. */
export const begin =
  (script: Script) =>
  (tag: string, items: readonly TimedLease[]): Promise<BeginVerdict[]> =>
    script.verdicts(tag, items, (t) => [t.queue, t.id, t.fence, t.leaseMs]);
