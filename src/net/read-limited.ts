import type { Readable } from "node:stream";
import { GrowingBuffer } from "./growing-buffer.ts";

/** A body was longer than it may be; the rest of it was not read. */
export class BodyTooLong extends Error {
  override readonly name = "BodyTooLong";
  readonly maxBytes: number;
  constructor(maxBytes: number) {
    super(`the body is longer than ${maxBytes} bytes`);
    this.maxBytes = maxBytes;
  }
}

/** What bounds the reading of a body. */
export interface ReadLimits {
  /** Most bytes of it, after any decompression that the stream does. */
  readonly maxBytes: number;
  /** Ends the reading; a body may have no end. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Reads a body whole, as it is sent, and holds no more of it than the limit (and one chunk). The stream is canceled as soon as it
 * is too long, it fails or the signal fires, so that whoever sends it stops.
 * @param body of `fetch` or a Response, or a stream of Node's; null for none
 * @throws BodyTooLong; the signal's reason; TypeError for a chunk that is no bytes; what the stream itself throws
 */
export async function readLimited(
  body: ReadableStream<unknown> | Readable | null,
  { maxBytes, signal }: ReadLimits,
): Promise<Buffer> {
  const gathered = new GrowingBuffer();
  if (body === null) return gathered.take();
  const source = sourceOf(body);
  let stop = (): void => undefined;
  const stopped = new Promise<never>((_, reject) => {
    stop = () => reject(signal?.reason);
  });
  // Whoever waits for the next chunk hears of it; if nobody does, there is nothing to say.
  stopped.catch(() => undefined);
  signal?.addEventListener("abort", stop, { once: true });
  let ended = false;
  try {
    signal?.throwIfAborted();
    for (;;) {
      const next = source.next();
      const { done, value } = await (signal ? Promise.race([next, stopped]) : next);
      if (done) {
        ended = true;
        return gathered.take();
      }
      if (!(value instanceof Uint8Array)) throw new TypeError("the body has a chunk that is not bytes");
      if (gathered.length + value.length > maxBytes) throw new BodyTooLong(maxBytes);
      gathered.append(value);
    }
  } finally {
    signal?.removeEventListener("abort", stop);
    if (!ended) source.cancel();
  }
}

/** A stream as it is read here. */
interface Source {
  next(): Promise<{ done?: boolean | undefined; value?: unknown }>;
  /** Ends it, also while a chunk is waited for, which an iterator of it could not; is not waited for. */
  cancel(): void;
}

function sourceOf(body: ReadableStream<unknown> | Readable): Source {
  if ("getReader" in body) {
    const reader = body.getReader();
    return {
      next: () => reader.read(),
      cancel: () => {
        // One that has failed has nothing to cancel.
        reader.cancel().catch(() => undefined);
      },
    };
  }
  const chunks = body[Symbol.asyncIterator]();
  return { next: () => chunks.next(), cancel: () => body.destroy() };
}
