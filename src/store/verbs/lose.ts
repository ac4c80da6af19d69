import type { Lease } from "./lease.ts";
import type { Script } from "./script.ts";
import type { LostTask, TickQueue } from "./tick.ts";

/** The verdict on a task whose worker has died, see lose.lua. */
export type LoseVerdict = LostTask["fate"] | "stale";

/** Reports tasks whose process died. */
export const lose =
  (script: Script) =>
  (tag: string, items: readonly (Lease & TickQueue)[], deadCap: number): Promise<LoseVerdict[]> => {
    const write = (t: Lease & TickQueue) => [
      ...[t.queue, t.id, t.fence, t.maxLost, t.problem, t.keepMs, t.tombstoneMs, t.deadMs],
    ];
    return script.verdicts(tag, items, write, deadCap);
  };
