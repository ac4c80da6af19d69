import type { Extension } from "../../extension.ts";
import { undoHandler } from "../../workers/undo.ts";

/** Undoes what tasks did that failed or were canceled. */
export const undo: Extension = ({ handlers }) => ({ handler: undoHandler(handlers) });
