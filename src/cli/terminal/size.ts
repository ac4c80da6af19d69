/** How much a terminal shows. Some have no size, such as one that a program opened and gave none: they say 0. */
export function sizeOf({ columns, rows }: { columns: number; rows: number }): { columns: number; rows: number } {
  return { columns: columns || 80, rows: rows || 24 };
}
