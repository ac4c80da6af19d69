import type { Extension } from "../../extension.ts";
import { undoEntry } from "./undo-entry.ts";
import { undoHandler } from "./undo-handler.ts";

/** Undoes what tasks did that failed or were canceled. */
export const undo: Extension = {
  start: ({ handlers }) => ({ handler: undoHandler(handlers), timeline: undoEntry }),
};
