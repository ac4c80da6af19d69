import { shown, shownLine } from "./print.ts";

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
