/** What is redrawn in place on a terminal: its last line, or all of it. */

import { isDumb } from "../environment.ts";
import { shown, shownLine } from "./print.ts";

/** The size of a terminal. A terminal without a size, such as one opened by a program, reports 0. */
export function sizeOf({ columns, rows }: { columns: number; rows: number }): { columns: number; rows: number } {
  return { columns: columns || 80, rows: rows || 24 };
}

/** Whether lines can be redrawn there: it is a terminal, and understands escape sequences. */
export function canDraw(stream: NodeJS.WriteStream): boolean {
  return stream.isTTY && !isDumb();
}

/** A line at the bottom of a terminal that is rewritten in place; text above it stays. */
export class LiveLine {
  readonly #stream: NodeJS.WriteStream;
  #line = "";
  /** The text above does not end with a line break, so there is no room for the line. */
  #midLine = false;

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
  }

  /** Shows another line; the terminal cuts what is too long. */
  show(line: string): void {
    this.#line = line;
    // Without wrapping (?7l): the rest of a line that wraps would stay.
    if (!this.#midLine) this.#stream.write(`\r\x1b[?7l${shownLine(line)}\x1b[K\x1b[?7h`);
  }

  /** Writes text above the line. */
  write(text: string): void {
    if (text === "") return;
    this.#stream.write(this.#midLine ? shown(text) : `\r\x1b[K${shown(text)}`);
    this.#midLine = !text.endsWith("\n");
    this.show(this.#line);
  }

  /** Removes the line for good; later output begins a new line. */
  clear(): void {
    this.#stream.write(this.#midLine ? "\n" : "\r\x1b[K");
    this.#midLine = false;
    this.#line = "";
  }
}

/** The whole terminal, redrawn in place; its former content comes back when it closes. */
export class Screen {
  readonly #stream: NodeJS.WriteStream;
  #open = true;
  readonly #onExit = (): void => this.close();

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
    // The alternate screen, without a cursor.
    stream.write("\x1b[?1049h\x1b[?25l");
    process.once("exit", this.#onExit);
  }

  get size(): { columns: number; rows: number } {
    return sizeOf(this.#stream);
  }

  /** Shows lines from the top; those that do not fit are cut. */
  draw(lines: readonly string[]): void {
    if (!this.#open) return;
    const shown = lines.slice(0, sizeOf(this.#stream).rows).map((line) => `${shownLine(line)}\x1b[K`);
    this.#stream.write(`\x1b[H\x1b[?7l${shown.join("\r\n")}\x1b[?7h\x1b[J`);
  }

  /** Idempotent. */
  close(): void {
    if (!this.#open) return;
    this.#open = false;
    process.removeListener("exit", this.#onExit);
    this.#stream.write("\x1b[?25h\x1b[?1049l");
  }
}
