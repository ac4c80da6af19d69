import type { Keys } from "../../store/keys.ts";
import type { Move, MoveVerdict, Scripts } from "../../store/verbs/scripts.ts";
import { newCall } from "../calls/new-call.ts";
import type { Maintenance } from "../maintenance/maintenance.ts";
import type { Homes } from "../partitions/homes.ts";
import { pageOf } from "../reading/page.ts";

/** What {@link move} needs. */
interface MoveParts {
  readonly scripts: Scripts;
  readonly keys: Keys;
  readonly homes: Homes;
  readonly noteDue: Maintenance["noteDue"];
}

/** Moves a task that waits: to another priority, to the start or the end of its line, or to another time. */
export async function move(
  parts: MoveParts,
  { id, queue }: { readonly id: string; readonly queue: string },
  to: Move,
): Promise<MoveVerdict> {
  const { scripts, keys, homes, noteDue } = parts;
  const edge = to.place && keys.partitions > 1 ? await edgeOf(parts, queue, to.place) : undefined;
  const item = { ...to, id, edge, call: newCall() };
  const verdict = await homes.at(
    id,
    (partition) => scripts.move(keys.tag(partition), item),
    (answer) => answer === "unknown",
  );
  // Only the store knows how far its clock is from a time: the next tick asks.
  const dueInMs = to.notBeforeMs === undefined ? to.delayMs : 0;
  if (verdict === "moved" && dueInMs !== undefined) noteDue(homes.of(id), dueInMs);
  return verdict;
}

/** The score of the first or last task of a line over all partitions. */
async function edgeOf(parts: MoveParts, queue: string, place: "first" | "last"): Promise<string | undefined> {
  const { entries } = await pageOf(parts, "waiting", { queue, after: null, limit: 1, isNewestFirst: place === "last" });
  return entries[0]?.score;
}
