import type { Extension } from "../../extension.ts";
import type { Api } from "../../http/api.ts";
import { errorOf, WITH_PROBLEM } from "../../http/task/task-document.ts";
import type { TimelineMembers, TimelineSubject } from "../../http/task/timeline.ts";
import { timestamp } from "../../wire/document.ts";
import { isUndoQueue, undoHandler } from "./undo-handler.ts";

/** Undoes what tasks did that failed or were canceled. */
export const undo: Extension = {
  start: ({ handlers }) => ({ handler: undoHandler(handlers), timeline: undoEntry }),
};

/** The undo of a task in its timeline; null if there is none. An undo task shows the steps of the task that it undoes. */
async function undoEntry(
  { engine }: Pick<Api, "engine">,
  { seen, details: { undo: id }, all }: TimelineSubject,
): Promise<TimelineMembers> {
  const undo = id === "" ? null : await engine.inspector.inspect(id, WITH_PROBLEM);
  const ended = isUndoQueue(seen.queue) ? seen : undo;
  return {
    undoneAt: ended?.state === "succeeded" ? timestamp(ended.finishedMs) : null,
    undo: undo && {
      id,
      state: undo.state,
      attempt: undo.attempts,
      startedAt: timestamp(undo.startedMs),
      finishedAt: timestamp(undo.finishedMs),
      error: all ? (errorOf(undo)?.message ?? null) : null,
    },
  };
}
