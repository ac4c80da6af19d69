import { grouped } from "./grouped.ts";
import type { Lease } from "./lease.ts";
import { text } from "./reply.ts";
import type { Argument, Script } from "./script.ts";
import type { Retention } from "./settle.ts";

/** A task that has succeeded, with its result as it is stored. */
export interface Completion extends Lease, Retention {
  readonly result: string | Buffer;
}

/** What became of it: see complete.lua. */
export type CompleteVerdict = "done" | "canceled" | "already" | "stale" | "unknown";

/** Finishes tasks with their results. */
export const complete =
  (script: Script) =>
  async (tag: string, items: readonly Completion[]): Promise<CompleteVerdict[]> =>
    completeVerdicts(text(await script.text(tag, completeArguments(items))));

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
