import stringWidth from "string-width";
import { paint, plain, print } from "./print.ts";
import { sizeOf } from "./screen.ts";

/** A column of a table; numbers are aligned to the right. */
export interface Column<Row> {
  readonly title: string;
  /** The title if there is little room. */
  readonly short?: string;
  readonly value: (row: Row) => string | number | null;
  /**
   * Where its values may be cut, down to `min` columns of the terminal. It gets room up to `wanted` before all others; one that is cut
   * `last` keeps its values whole as long as it has room without the columns that may be left out.
   */
  readonly cut?: {
    readonly where: "end" | "middle";
    readonly min: number;
    readonly wanted?: number;
    readonly last?: true;
  };
  /** If there is too little room, the column with the highest rank is left out first; columns without a rank never are. */
  readonly rank?: number;
  /** On a terminal it comes after the first column, or is left out if it has no values. */
  readonly early?: true;
}

/** What is shown for a missing value. */
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

/** A column as it is shown. */
interface ShownColumn {
  readonly title: string;
  readonly cells: readonly string[];
  readonly atRight: boolean;
  readonly where: "end" | "middle";
  /** Its width without cuts, and its minimum. */
  readonly width: number;
  readonly min: number;
  /** The width that it gets before others get more than their minimum. */
  readonly wanted: number;
}

/** The lines of a table, none longer than the terminal is wide. */
export function tableLines<Row>(columns: readonly Column<Row>[], rows: readonly Row[], width: number): string[] {
  const [first, ...others] = columns.filter(({ early, value }) => !early || rows.some((row) => value(row)));
  const all = [...(first ? [first] : []), ...others.filter(({ early }) => early), ...others.filter((c) => !c.early)];
  let shown = all;
  let isShort = false;
  let cutsAll = !all.some(({ cut }) => cut?.last);
  for (;;) {
    const made = shown.map((column) => shownColumn(column, rows, isShort, cutsAll));
    const spare = width - made.reduce((sum, { min }) => sum + min, 0) - GAP.length * (made.length - 1);
    const last = Math.max(0, ...shown.map(({ rank = 0 }) => rank));
    if (spare < 0 && !isShort) isShort = true;
    else if (spare < 0 && last > 0) shown = shown.filter(({ rank }) => rank !== last);
    else if (spare < 0 && !cutsAll) [shown, isShort, cutsAll] = [all, false, true];
    else return linesOf(made, spare).map((line, n) => (n === 0 ? paint("dim", cut(line, width)) : cut(line, width)));
  }
}

function shownColumn<Row>(column: Column<Row>, rows: readonly Row[], isShort: boolean, cutsAll: boolean): ShownColumn {
  const title = (isShort && column.short) || column.title;
  const values = rows.map((row) => column.value(row));
  const cells = values.map((value) => plain(String(value ?? NOTHING)));
  const width = Math.max(widthOf(title), ...cells.map(widthOf));
  const min =
    column.cut && (cutsAll || !column.cut.last) ? Math.min(width, Math.max(widthOf(title), column.cut.min)) : width;
  return {
    ...{ title, cells, width, min },
    wanted: Math.max(min, Math.min(width, column.cut?.wanted ?? min)),
    atRight: rows.length > 0 && values.every((value) => typeof (value ?? 0) === "number"),
    where: column.cut?.where ?? "end",
  };
}

/** @param spare the room beyond the minimum widths: first for what columns want, then the first columns get it */
function linesOf(columns: readonly ShownColumn[], spare: number): string[] {
  let left = Math.max(0, spare);
  const widths = columns.map(({ min }) => min);
  for (const of of ["wanted", "width"] as const) {
    for (const [n, column] of columns.entries()) {
      const more = Math.min(left, column[of] - (widths[n] ?? 0));
      if (more <= 0) continue;
      left -= more;
      widths[n] = (widths[n] ?? 0) + more;
    }
  }
  const lineOf = (texts: readonly string[]) =>
    columns
      .map(({ where, atRight }, n) => {
        const width = widths[n] ?? 0;
        return padded(cut(texts[n] ?? "", width, where), width, atRight);
      })
      .join(GAP)
      .trimEnd();
  const rows = columns[0]?.cells.map((_, row) => lineOf(columns.map(({ cells }) => cells[row] ?? ""))) ?? [];
  return [lineOf(columns.map(({ title }) => title)), ...rows];
}

const ELLIPSIS = "…";
const segmenter = new Intl.Segmenter();

/** How many columns of a terminal a text takes: two for a wide character, none for a combining one. */
export function widthOf(text: string): number {
  return /^[\x20-\x7e]*$/.test(text) ? text.length : stringWidth(text);
}

/** A text padded with spaces to a width, at its end or start. */
export function padded(text: string, width: number, atRight = false): string {
  const spaces = " ".repeat(Math.max(0, width - widthOf(text)));
  return atRight ? spaces + text : text + spaces;
}

/** A text cut to a width, at its end or in the middle. */
export function cut(text: string, width: number, where: "end" | "middle" = "end"): string {
  if (widthOf(text) <= width) return text;
  const characters = Array.from(segmenter.segment(text), ({ segment }) => segment);
  const room = Math.max(0, width - 1);
  const tail =
    where === "end"
      ? ""
      : beginning(characters.toReversed(), Math.floor(room / 2))
          .reverse()
          .join("");
  return beginning(characters, room - widthOf(tail)).join("") + ELLIPSIS + tail;
}

function beginning(characters: readonly string[], width: number): string[] {
  let left = width;
  const end = characters.findIndex((character) => {
    left -= widthOf(character);
    return left < 0;
  });
  return characters.slice(0, end);
}

/** Names and values, one per line; names without a value are left out. */
export function fieldLines(rows: readonly (readonly [name: string, value: string | number | null])[]): string[] {
  const shown = rows.filter(([, value]) => value !== null);
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${plain(String(value))}`);
}
