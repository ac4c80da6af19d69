import type { Move, MoveVerdict } from "../../store/task/move.ts";
import type { Engine } from "../engine.ts";

/**
 * Moves a waiting or scheduled task of a queue: to another priority, to the start or the end of its line, or to another time. The order of
 * all others stays.
 * @throws ProblemError store-unavailable
 */
export async function move(
  { call, keys, maintenance }: Engine,
  { id, queue }: { readonly id: string; readonly queue: string },
  to: Move,
): Promise<MoveVerdict> {
  const verdict = await call("move", { ...to, id, queue });
  // Only the store knows how far its clock is from a time: the next tick asks.
  const dueInMs = to.notBeforeMs === undefined ? to.delayMs : 0;
  if (verdict === "moved" && dueInMs !== undefined) maintenance.noteDue(keys.partitionOfQueue(queue), dueInMs);
  return verdict;
}
