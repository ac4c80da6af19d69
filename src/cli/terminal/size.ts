import { isDumb } from "../../config/shell.ts";

/** How much a terminal shows. Some have no size, such as one that a program opened and gave none: they say 0. */
export function sizeOf({ columns, rows }: { columns: number; rows: number }): { columns: number; rows: number } {
  return { columns: columns || 80, rows: rows || 24 };
}

/** Whether something can be drawn there in place: it is a terminal, and knows escape sequences. */
export function canDraw(stream: NodeJS.WriteStream): boolean {
  return stream.isTTY && !isDumb();
}
