import { isDumb } from "../../config/shell.ts";

/** The size of a terminal. A terminal without a size, such as one opened by a program, reports 0. */
export function sizeOf({ columns, rows }: { columns: number; rows: number }): { columns: number; rows: number } {
  return { columns: columns || 80, rows: rows || 24 };
}

/** Whether lines can be redrawn there: it is a terminal, and understands escape sequences. */
export function canDraw(stream: NodeJS.WriteStream): boolean {
  return stream.isTTY && !isDumb();
}
