import { IncomingMessage, type ServerResponse } from "node:http";

/** A longer body does not arrive in one piece: Node reads as much from a socket at once. */
const PIECE_BYTES = 65_536;

/**
 * A request that keeps a body which arrives in one piece with its head, as nearly all do, until it is taken or read: as a stream it
 * would take several ticks, with listeners and promises. And it sends 100 Continue only when its body is read.
 */
export class HttpRequest extends IncomingMessage {
  #beforeBody: (() => void) | undefined;
  /** How long a body is kept in one piece; 0 if none is. */
  #keeps = 0;
  #body: Buffer | undefined;
  /** The end of the stream has come, behind the kept body. */
  #ended = false;

  /**
   * Keeps the body if it arrives in one piece in this tick. Returns false if that cannot be: the request need not wait for the next
   * tick. Whatever comes later than that is read as a stream.
   */
  keepBody(): boolean {
    const length = Number(this.headers["content-length"] ?? 0);
    if (!(length > 0 && length <= PIECE_BYTES)) return false;
    this.#keeps = length;
    return true;
  }

  /** The kept body, which is then no longer in the stream; undefined if it has to be read. */
  takeBody(): Buffer | undefined {
    this.#keeps = 0;
    const body = this.#body;
    if (body === undefined) return undefined;
    this.#body = undefined;
    if (this.#ended) super.push(null);
    return body;
  }

  /** Called by Node's parser with each piece of the body, and with null at its end. */
  override push(piece: Buffer | null): boolean {
    if (piece === null && this.#body !== undefined) {
      this.#ended = true;
      return false;
    }
    if (piece === null || piece.length !== this.#keeps) return super.push(piece);
    this.#keeps = 0;
    this.#body = piece;
    return true;
  }

  override _read(size: number): void {
    const first = this.#beforeBody;
    this.#beforeBody = undefined;
    first?.();
    // From now on someone waits for what comes.
    this.#keeps = 0;
    const body = this.#body;
    this.#body = undefined;
    if (body !== undefined) super.push(body);
    if (body !== undefined && this.#ended) super.push(null);
    super._read(size);
  }

  /**
   * Sends 100 Continue when the body is read, not before: a client that waits for it (RFC 9110 §10.1.1) gets a 413 or 415 before
   * it sends the body. Whether it sends the body after such an answer is unknown, so the connection is closed.
   */
  continueWhenRead(response: ServerResponse): void {
    const keep = response.shouldKeepAlive;
    response.shouldKeepAlive = false;
    this.#beforeBody = () => {
      // After the response, the rest of the body is only read to be discarded.
      if (response.headersSent) return;
      response.shouldKeepAlive = keep;
      response.writeContinue();
    };
  }
}
