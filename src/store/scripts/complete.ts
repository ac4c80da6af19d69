import { grouped } from "./grouped.ts";
import type { Lease, Retention } from "./items.ts";
import type { Argument } from "./script.ts";

/** A task that has succeeded, with its result as it is stored. */
export interface Completion extends Lease, Retention {
  readonly result: string | Buffer;
}

/** What became of it: see complete.lua. */
export type CompleteVerdict = "done" | "canceled" | "already" | "stale" | "unknown";

/** The arguments of complete.lua, and the last ones of reserve.lua. */
export function completeArguments(items: readonly Completion[]): Argument[] {
  return grouped(items, {
    together: (a, b) => a.queue === b.queue && a.keepMs === b.keepMs && a.tombstoneMs === b.tombstoneMs,
    head: (args, { queue, keepMs, tombstoneMs }) => args.push(queue, keepMs, tombstoneMs),
    item: (args, { id, fence, result }) => args.push(id, fence, result),
  });
}

/** Reads what complete.lua answers. */
export function completeVerdicts(reply: string): CompleteVerdict[] {
  return reply === "" ? [] : (reply.split(" ") as CompleteVerdict[]);
}
