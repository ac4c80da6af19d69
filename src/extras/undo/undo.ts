import type { Extension } from "../../extension.ts";
import { undoHandler } from "../../workers/undo.ts";
import { undoEntry } from "./undo-entry.ts";

/** Undoes what tasks did that failed or were canceled. */
export const undo: Extension = ({ handlers }) => ({ handler: undoHandler(handlers), timeline: undoEntry });
