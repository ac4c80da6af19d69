import type { Readable } from "node:stream";

/** A body exceeded its limit; the rest of it was not read. */
export class BodyTooLong extends Error {
  override readonly name = "BodyTooLong";
  readonly maxBytes: number;
  constructor(maxBytes: number) {
    super(`the body is longer than ${maxBytes} bytes`);
    this.maxBytes = maxBytes;
  }
}

/** Limits for reading a body. */
export interface ReadLimits {
  /** Maximum number of bytes, after decompression if the stream does that. */
  readonly maxBytes: number;
  /** Aborts the reading, since a body may never end. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Reads a whole body, with at most the limit and one chunk in memory. The stream is canceled as soon as it is too long, fails,
 * or the signal fires, so that the sender stops.
 * @param body of `fetch` or a Response, or a stream of Node's; null for none
 * @throws BodyTooLong; the signal's reason; TypeError for a chunk that is not bytes; the stream's own error
 */
export async function readLimited(
  body: ReadableStream<unknown> | Readable | null,
  { maxBytes, signal }: ReadLimits,
): Promise<Buffer> {
  const gathered = new GrowingBuffer();
  if (body === null) return gathered.take();
  const source = sourceOf(body);
  let fail: (reason: unknown) => void = () => undefined;
  const stop = () => fail(signal?.reason);
  signal?.addEventListener("abort", stop);
  let ended = false;
  try {
    signal?.throwIfAborted();
    for (;;) {
      // Not Promise.race with one promise for the signal: that would keep every chunk until it settles.
      const { done, value } = await new Promise<Awaited<ReturnType<Source["next"]>>>((resolve, reject) => {
        fail = reject;
        source.next().then(resolve, reject);
      });
      if (done) {
        ended = true;
        return gathered.take();
      }
      if (!(value instanceof Uint8Array)) throw new TypeError("the body has a chunk that is not bytes");
      if (gathered.length + value.length > maxBytes) throw new BodyTooLong(maxBytes);
      gathered.append(Buffer.isBuffer(value) ? value : Buffer.from(value.buffer, value.byteOffset, value.byteLength));
    }
  } finally {
    signal?.removeEventListener("abort", stop);
    if (!ended) source.cancel();
  }
}

/** A stream to read. */
interface Source {
  next(): Promise<{ done?: boolean | undefined; value?: unknown }>;
  /** Cancels it, even while a read is pending, which an iterator could not do. Not awaited. */
  cancel(): void;
}

function sourceOf(body: ReadableStream<unknown> | Readable): Source {
  if ("getReader" in body) {
    const reader = body.getReader();
    return {
      next: () => reader.read(),
      cancel: () => {
        // A failed stream cannot be canceled.
        reader.cancel().catch(() => undefined);
      },
    };
  }
  const chunks = body[Symbol.asyncIterator]();
  return { next: () => chunks.next(), cancel: () => body.destroy() };
}

/** The smallest buffer, bytes. */
const MIN_ROOM = 1024;
const NOTHING = Buffer.alloc(0);

/**
 * Gathers chunks of bytes by copying them into one buffer that doubles when it is full. A list of chunks would take about a hundred bytes
 * for each chunk, and keep alive the buffer behind it: a megabyte that arrives byte by byte would take two hundred megabytes.
 */
export class GrowingBuffer {
  /** Bytes gathered. */
  length = 0;
  /** The first chunk, as long as it is the only one: most bodies have just one, which needs no copy. */
  #only: Buffer | undefined;
  #room: Buffer = NOTHING;

  append(chunk: Buffer): void {
    if (this.length === 0) {
      this.#only = chunk;
    } else {
      this.#makeRoom(this.length + chunk.length);
      this.#room.set(chunk, this.length);
    }
    this.length += chunk.length;
  }

  /** Returns the gathered bytes and resets the buffer. They may be the original chunk if there was only one. */
  take(): Buffer {
    const bytes = this.#only ?? this.#room.subarray(0, this.length);
    this.length = 0;
    this.#only = undefined;
    this.#room = NOTHING;
    return bytes;
  }

  #makeRoom(bytes: number): void {
    if (bytes > this.#room.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(MIN_ROOM, bytes, this.#room.length * 2));
      larger.set(this.#room.subarray(0, this.length));
      this.#room = larger;
    }
    if (this.#only) {
      this.#room.set(this.#only);
      this.#only = undefined;
    }
  }
}
