import { GrowingBuffer } from "../../net/growing-buffer.ts";

const LF = 0x0a;
const CR = 0x0d;

/** A line of a body, without its line break: its bytes, or null if it was too long. */
export interface BodyLine {
  /** From 0; empty lines count. */
  readonly number: number;
  readonly bytes: Buffer | null;
}

/** The body exceeds the limits of a batch. */
export class BatchTooLarge extends Error {
  override readonly name = "BatchTooLarge";
  /** The number of the first line beyond the limit. */
  readonly line: number;
  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

/** How long a body and its lines may be. */
interface BodyBounds {
  readonly lineBytes: number;
  readonly bodyBytes: number;
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

  /** The lines that end in the next chunk. @throws BatchTooLarge with the number of the first line that was not yielded */
  *take(chunk: Buffer): Generator<BodyLine, void, void> {
    const { bodyBytes, lines } = this.#bounds;
    this.#received += chunk.length;
    if (this.#received > bodyBytes)
      throw new BatchTooLarge(this.#number, `The body is longer than ${bodyBytes} bytes.`);
    for (let from = 0; ; ) {
      const to = chunk.indexOf(LF, from);
      if (this.#number >= lines && from < chunk.length) {
        throw new BatchTooLarge(this.#number, `The body has more than ${lines} lines.`);
      }
      this.#append(chunk.subarray(from, to < 0 ? chunk.length : to));
      if (to < 0) return;
      const line = this.#end();
      if (line) yield line;
      from = to + 1;
    }
  }

  /** The last line, if it has no line break. */
  rest(): BodyLine | undefined {
    return this.#begunBytes > 0 ? this.#end() : undefined;
  }

  #append(part: Buffer): void {
    // The rest of a line that is too long is dropped.
    if (this.#begunBytes <= this.#bounds.lineBytes) this.#begun.append(part);
    this.#begunBytes += part.length;
  }

  #end(): BodyLine | undefined {
    const { lineBytes } = this.#bounds;
    const tooLong = this.#begunBytes > lineBytes + 1;
    const taken = this.#begun.take();
    const whole = this.#number === 0 ? withoutMark(taken) : taken;
    const bytes = tooLong ? null : trimEnd(whole);
    const number = this.#number;
    this.#begunBytes = 0;
    this.#number += 1;
    if (bytes !== null && bytes.length > lineBytes) return { number, bytes: null };
    return bytes === null || !isBlank(bytes) ? { number, bytes } : undefined;
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
