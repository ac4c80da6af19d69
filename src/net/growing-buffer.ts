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
