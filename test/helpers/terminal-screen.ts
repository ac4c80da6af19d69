// biome-ignore lint/suspicious/noControlCharactersInRegex: the sequences of a terminal
const SEQUENCE = /^\x1b(?:\[([?]?)([\d;]*)([A-Za-z])|[=>])/;

/**
 * What a terminal shows: as much of ECMA-48 as the command uses.
 * @throws Error from write() for a sequence that it does not know, so that none is missed
 */
export class TerminalScreen {
  readonly #columns: number;
  readonly #rows: number;
  #lines: string[][] = [[]];
  #row = 0;
  #column = 0;
  #wraps = true;
  #rest = "";
  /** The screen before the alternate one. */
  #before: { lines: string[][]; row: number; column: number } | undefined;
  /** Each line that was drawn in place, in order, without repetitions. */
  readonly frames: string[] = [];
  /** Whether there was any colour or other style. */
  styled = false;
  cursorShown = true;

  constructor(columns: number, rows: number) {
    this.#columns = columns;
    this.#rows = rows;
  }

  get text(): string {
    return this.#lines
      .map((line) =>
        Array.from(line, (cell) => cell ?? " ")
          .join("")
          .trimEnd(),
      )
      .join("\n");
  }

  get isAlternate(): boolean {
    return this.#before !== undefined;
  }

  write(text: string): void {
    this.#rest += text;
    while (this.#rest !== "") {
      const [first = ""] = this.#rest;
      if (first !== "\x1b") {
        this.#rest = this.#rest.slice(first.length);
        this.#put(first);
        continue;
      }
      const match = SEQUENCE.exec(this.#rest);
      if (!match) {
        if (this.#rest.length > 16) throw new Error(`an unknown sequence: ${JSON.stringify(this.#rest.slice(0, 16))}`);
        // The rest comes with the next bytes.
        return;
      }
      this.#rest = this.#rest.slice(match[0].length);
      const [, mark = "", numbers = "", letter = ""] = match;
      this.#obey(`${mark}${letter}`, numbers);
    }
  }

  #put(character: string): void {
    if (character === "\r") this.#column = 0;
    else if (character === "\n") this.#down();
    else if (character === "\b") this.#column = Math.max(0, this.#column - 1);
    else if (character !== "\x07") {
      if (this.#column >= this.#columns) {
        if (!this.#wraps) return;
        this.#column = 0;
        this.#down();
      }
      this.#line()[this.#column] = character;
      this.#column += 1;
    }
  }

  #down(): void {
    this.#row += 1;
    this.#line();
  }

  #line(): string[] {
    while (this.#lines.length <= this.#row) this.#lines.push([]);
    return this.#lines[this.#row] ?? [];
  }

  #obey(what: string, numbers: string): void {
    const n = Number(numbers || "0");
    if (what === "m") this.styled ||= numbers !== "" && numbers !== "0";
    else if (what === "K") this.#line().length = Math.min(this.#line().length, this.#column);
    else if (what === "J") {
      this.#line().length = Math.min(this.#line().length, this.#column);
      this.#lines.length = this.#row + 1;
    } else if (what === "H") {
      this.#row = 0;
      this.#column = 0;
    } else if (what === "G") this.#column = Math.max(0, n - 1);
    else if (what === "?h" || what === "?l") this.#mode(n, what === "?h");
    else if (what !== "") throw new Error(`an unknown sequence: ${what} ${numbers}`);
  }

  #mode(n: number, on: boolean): void {
    if (n === 7) {
      this.#wraps = on;
      if (on) this.#frame();
    } else if (n === 25) this.cursorShown = on;
    else if (n === 1049 && on) {
      this.#before = { lines: this.#lines, row: this.#row, column: this.#column };
      this.#lines = [[]];
    } else if (n === 1049 && this.#before) {
      ({ lines: this.#lines, row: this.#row, column: this.#column } = this.#before);
      this.#before = undefined;
    } else if (n !== 2004) throw new Error(`an unknown mode: ${n}`);
    if (this.#lines.length > this.#rows && this.isAlternate) throw new Error("more lines than the screen has");
  }

  /** Wrapping is turned on again behind each line that is drawn in place. */
  #frame(): void {
    const line = this.#line().join("").trimEnd();
    if (line !== this.frames.at(-1)) this.frames.push(line);
  }
}
