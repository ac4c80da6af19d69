import { GrowingBuffer } from "../../net/read-limited.ts";

/** The byte that ends a line. */
export const LF = 0x0a;
const CR = 0x0d;

/** A line of a body. */
export interface BodyLine {
  /** From 0; empty lines count. */
  readonly number: number;
  /** Without its line break; or why it is refused. */
  readonly bytes: Buffer | string;
}

/** How long a body and its lines may be. */
interface BodyBounds {
  readonly lineBytes: number;
  /** Of the body. */
  readonly bytes: number;
  readonly lines: number;
}

/**
 * Splits a stream of bytes into lines, and buffers no more than one of them. Lines end with LF or CR LF; the last one need not.
 * Blank lines are skipped, and so is a byte-order mark before the first. Splitting bytes is safe, since no other character of UTF-8 contains the byte LF.
 */
export class LineSplitter {
  readonly #bounds: BodyBounds;
  #number = 0;
  #received = 0;
  #isFull = false;
  /** The current line, and its length: more than was kept if it is too long. */
  readonly #begun = new GrowingBuffer();
  #begunBytes = 0;

  constructor(bounds: BodyBounds) {
    this.#bounds = bounds;
  }

  /** The number of the next line. */
  get next(): number {
    return this.#number;
  }

  /** The body is longer than it may be: the line that was yielded last says so. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** The lines that end in the next chunk, which may be the last one. */
  *take(chunk: Buffer, isLast = false): Generator<BodyLine, void, void> {
    const { bytes, lines } = this.#bounds;
    this.#received += chunk.length;
    if (this.#received > bytes) return yield this.#refuse(`The body is longer than ${bytes} bytes.`);
    for (let from = 0; from < chunk.length; ) {
      if (this.#number >= lines) return yield this.#refuse(`The body has more than ${lines} lines.`);
      const found = chunk.indexOf(LF, from);
      const to = found < 0 ? chunk.length : found;
      this.#append(chunk.subarray(from, to));
      const line = found < 0 ? undefined : this.#end();
      if (line) yield line;
      from = to + 1;
    }
    if (isLast) yield* this.rest();
  }

  /** The last line, if it has no line break. */
  *rest(): Generator<BodyLine, void, void> {
    const line = this.#begunBytes > 0 ? this.#end() : undefined;
    if (line) yield line;
  }

  #refuse(why: string): BodyLine {
    this.#isFull = true;
    return { number: this.#number, bytes: why };
  }

  #append(part: Buffer): void {
    // The rest of a line that is too long is dropped.
    if (this.#begunBytes <= this.#bounds.lineBytes) this.#begun.append(part);
    this.#begunBytes += part.length;
  }

  #end(): BodyLine | undefined {
    const { lineBytes } = this.#bounds;
    const isCut = this.#begunBytes > lineBytes + 1;
    const taken = this.#begun.take();
    const number = this.#number;
    const bytes = trimEnd(number === 0 ? withoutMark(taken) : taken);
    this.#begunBytes = 0;
    this.#number += 1;
    if (isCut || bytes.length > lineBytes) return { number, bytes: `The line is longer than ${lineBytes} bytes.` };
    return isBlank(bytes) ? undefined : { number, bytes };
  }
}

/** Without the CR of a CR LF. */
function trimEnd(line: Buffer): Buffer {
  return line.at(-1) === CR ? line.subarray(0, -1) : line;
}

/** JSON's white space only (RFC 8259 §2). */
function isBlank(line: Buffer): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === CR);
}

const [FIRST, SECOND, THIRD] = [0xef, 0xbb, 0xbf];

/** UTF-8 without the byte-order mark that some programs put before it. */
function withoutMark(bytes: Buffer): Buffer {
  return bytes[0] === FIRST && bytes[1] === SECOND && bytes[2] === THIRD ? bytes.subarray(3) : bytes;
}
