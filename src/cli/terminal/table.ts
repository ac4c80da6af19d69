import { paint, plain, print } from "./print.ts";
import { sizeOf } from "./size.ts";

/** A column of a table; numbers stand at its right. */
export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string | number | null;
}

/** What stands for nothing. */
const NOTHING = "–";
const GAP = "  ";

/** Prints rows: as a table on a terminal, else the values of each row in a line, separated by tabs. */
export function printTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): void {
  if (process.stdout.isTTY) {
    for (const line of tableLines(columns, rows, sizeOf(process.stdout).columns)) print(line);
    return;
  }
  for (const row of rows) print(columns.map(({ value }) => plain(String(value(row) ?? ""))).join("\t"));
}

/** The lines of a table, none longer than the terminal is wide if its last column can be cut. */
export function tableLines<Row>(columns: readonly Column<Row>[], rows: readonly Row[], width: number): string[] {
  const cells = rows.map((row) => columns.map(({ value }) => value(row)));
  const texts = cells.map((row) => row.map((cell) => plain(String(cell ?? NOTHING))));
  const widths = columns.map(({ title }, i) => Math.max(title.length, ...texts.map((row) => row[i]?.length ?? 0)));
  const atRight = columns.map((_, i) => cells.length > 0 && cells.every((row) => typeof (row[i] ?? 0) === "number"));
  const lineOf = (row: readonly string[]) => {
    const padded = row.map((text, i) => (atRight[i] ? text.padStart(widths[i] ?? 0) : text.padEnd(widths[i] ?? 0)));
    const line = padded.join(GAP).trimEnd();
    return line.length > width ? `${line.slice(0, Math.max(1, width - 1))}…` : line;
  };
  return [paint("dim", lineOf(columns.map(({ title }) => title))), ...texts.map(lineOf)];
}
