import { shownLine } from "./print.ts";
import { sizeOf } from "./size.ts";

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
