import type { Lease } from "./lease.ts";
import type { Script } from "./script.ts";
import type { Retention } from "./settle.ts";

/** The verdict on a task that was handed back, see release.lua. */
export type ReleaseVerdict = "released" | "canceled" | "stale";

/** Hands tasks back to their old places; their attempts do not count. */
export const release =
  (script: Script) =>
  (tag: string, items: readonly (Lease & Retention)[]): Promise<ReleaseVerdict[]> =>
    script.verdicts(tag, items, (t) => [t.queue, t.id, t.fence, t.keepMs, t.tombstoneMs]);
