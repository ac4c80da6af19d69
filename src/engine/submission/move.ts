import type { Keys } from "../../store/keys.ts";
import type { Move, MoveVerdict } from "../../store/verbs/move.ts";
import type { Scripts } from "../../store/verbs/scripts.ts";
import { newCall } from "../calls/new-call.ts";
import type { Maintenance } from "../maintenance/maintenance.ts";

/** What {@link move} needs. */
interface MoveParts {
  readonly scripts: Scripts;
  readonly keys: Keys;
  readonly noteDue: Maintenance["noteDue"];
}

/** Moves a task that waits: to another priority, to the start or the end of its line, or to another time. */
export async function move(
  { scripts, keys, noteDue }: MoveParts,
  { id, queue }: { readonly id: string; readonly queue: string },
  to: Move,
): Promise<MoveVerdict> {
  const home = keys.partitionOfQueue(queue);
  const verdict = await scripts.move(keys.tag(home), { ...to, id, call: newCall() });
  // Only the store knows how far its clock is from a time: the next tick asks.
  const dueInMs = to.notBeforeMs === undefined ? to.delayMs : 0;
  if (verdict === "moved" && dueInMs !== undefined) noteDue(home, dueInMs);
  return verdict;
}
