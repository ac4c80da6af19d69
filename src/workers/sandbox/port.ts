import type { FromCell, ToCell } from "./messages.ts";

/** A line to the inside of a cell, and the means to end it. */
export interface CellPort {
  /** Says something; without effect when the cell is gone. */
  post(message: ToCell): void;
  /** Sets who is told what the cell says. */
  listen(listener: (message: FromCell) => void): void;
  /** Resolves when the cell is gone and has been heard to the last word, with how it ended. */
  readonly gone: Promise<string>;
  /** Ends the cell, whatever it does. Resolves when it is gone. */
  kill(): Promise<void>;
}
