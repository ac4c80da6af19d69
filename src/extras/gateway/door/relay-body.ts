import { IncomingMessage } from "node:http";
import type { Readable, Writable } from "node:stream";
import { GrowingBuffer } from "../../../net/read-limited.ts";

/** How much of what a caller sends is read before it can be passed on, bytes. */
const READ_AHEAD_BYTES = 1024 ** 2;
/** What is read ahead of all callers together, and how much of it there may be, bytes: thousands who wait must not fill the memory. */
const ALL = { bytes: 0, most: 256 * 1024 ** 2 };

/**
 * What a caller sends, read before it can be passed on, up to a limit: a connection that is not read from does not hear that its caller
 * has hung up.
 */
export class ReadAhead {
  readonly #source: Readable;
  readonly #limit: number;
  readonly #all: typeof ALL;
  readonly #read = new GrowingBuffer();
  #ended = false;
  #stopped = false;
  #to: Writable | undefined;
  #finish: () => void = () => undefined;
  #isBlocked = false;
  /** Nothing more is read before it can be passed on. */
  #isPaused = false;
  /** Told when more has been read, or nothing more will be. */
  #onProgress: (() => void) | undefined;

  /** @param source a request, whose body is read; or the connection of an upgrade */
  constructor(source: Readable, limit: number = READ_AHEAD_BYTES, all = ALL) {
    this.#source = source;
    this.#limit = limit;
    this.#all = all;
    if (source instanceof IncomingMessage && !hasBody(source)) this.#ended = true;
    else source.on("data", this.#onData).on("end", this.#onEnd).on("close", this.#onClose);
  }

  /**
   * The whole body as soon as it has arrived; undefined as soon as it is longer, or its caller has gone, and at once if the caller
   * waits for `100 Continue` before it sends a body.
   * @param maxBytes at most the limit
   */
  whole(maxBytes: number): Promise<Buffer | undefined> {
    const { headers } = this.#source as Partial<IncomingMessage>;
    const waits = !this.#ended && headers?.expect !== undefined;
    return new Promise((resolve) => {
      const look = () => {
        const isLonger = this.#isPaused || this.#read.length > maxBytes;
        if (!waits && !this.#stopped && !this.#ended && !isLonger) return;
        this.#onProgress = undefined;
        resolve(this.#ended && !this.#stopped && !isLonger ? this.#peek() : undefined);
      };
      this.#onProgress = look;
      look();
    });
  }

  /**
   * Passes on what has been read, and what will be, as fast as `to` takes it. Writes at once, if only an empty buffer.
   * @param finish called at the end instead of ending `to`
   */
  pipe(to: Writable, finish: () => void = () => to.end()): void {
    this.#to = to;
    this.#finish = finish;
    to.on("drain", this.#flush);
    this.#flush();
  }

  /** Passes on nothing more; the rest is read and discarded. Idempotent. */
  stop(): void {
    this.#stopped = true;
    this.#source.off("data", this.#onData).off("end", this.#onEnd).off("close", this.#onClose);
    this.#to?.off("drain", this.#flush);
    this.#to = undefined;
    this.#take();
    this.#onProgress?.();
    if (!this.#ended) this.#source.resume();
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#to && !this.#isBlocked) {
      this.#isBlocked = !this.#to.write(chunk);
      return;
    }
    this.#read.append(chunk);
    this.#all.bytes += chunk.length;
    if (this.#read.length >= this.#limit || this.#all.bytes >= this.#all.most) {
      this.#isPaused = true;
      this.#source.pause();
    }
    this.#onProgress?.();
  };

  readonly #onEnd = (): void => {
    this.#ended = true;
    if (this.#to && !this.#isBlocked) this.#finish();
    this.#onProgress?.();
  };

  readonly #onClose = (): void => {
    if (!this.#ended) this.stop();
  };

  readonly #flush = (): void => {
    if (!this.#to) return;
    this.#isBlocked = (this.#read.length > 0 || !this.#ended) && !this.#to.write(this.#take());
    if (this.#isPaused) {
      this.#isPaused = false;
      this.#source.resume();
    }
    if (this.#ended && !this.#isBlocked) this.#finish();
  };

  #take(): Buffer {
    this.#all.bytes -= this.#read.length;
    return this.#read.take();
  }

  #peek(): Buffer {
    const bytes = this.#read.take();
    if (bytes.length > 0) this.#read.append(bytes);
    return bytes;
  }
}

/** Whether a request has a body, which may be empty (RFC 9112 §6.3). */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}
