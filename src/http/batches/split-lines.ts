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

/**
 * Splits a stream of bytes into lines, and buffers no more than one of them. Lines end with LF or CR LF; the last one need not.
 * Blank lines are skipped. Splitting bytes is safe, since no other character of UTF-8 contains the byte LF.
 * @throws BatchTooLarge with the number of the first line that was not yielded
 */
export async function* splitLines(
  chunks: AsyncIterable<Buffer>,
  bounds: { readonly lineBytes: number; readonly bodyBytes: number; readonly lines: number },
): AsyncGenerator<BodyLine, void, void> {
  let number = 0;
  let received = 0;
  const begun = new GrowingBuffer();
  let begunBytes = 0;

  const take = (part: Buffer): void => {
    // The rest of a line that is too long is dropped.
    if (begunBytes <= bounds.lineBytes) begun.append(part);
    begunBytes += part.length;
  };
  const end = (): BodyLine | undefined => {
    const tooLong = begunBytes > bounds.lineBytes + 1;
    const whole = begun.take();
    const bytes = tooLong ? null : trimEnd(whole);
    begunBytes = 0;
    number += 1;
    if (bytes !== null && bytes.length > bounds.lineBytes) return { number: number - 1, bytes: null };
    return bytes === null || !isBlank(bytes) ? { number: number - 1, bytes } : undefined;
  };

  for await (const chunk of chunks) {
    received += chunk.length;
    if (received > bounds.bodyBytes)
      throw new BatchTooLarge(number, `The body is longer than ${bounds.bodyBytes} bytes.`);
    for (let from = 0; ; ) {
      const to = chunk.indexOf(LF, from);
      if (number >= bounds.lines && from < chunk.length) {
        throw new BatchTooLarge(number, `The body has more than ${bounds.lines} lines.`);
      }
      take(chunk.subarray(from, to < 0 ? chunk.length : to));
      if (to < 0) break;
      const line = end();
      if (line) yield line;
      from = to + 1;
    }
  }
  if (begunBytes > 0) {
    const line = end();
    if (line) yield line;
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
