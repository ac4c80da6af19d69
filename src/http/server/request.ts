import { IncomingMessage, type ServerResponse } from "node:http";

/** A request that sends 100 Continue only when its body is read. */
export class HttpRequest extends IncomingMessage {
  #beforeBody: (() => void) | undefined;

  override _read(size: number): void {
    const first = this.#beforeBody;
    this.#beforeBody = undefined;
    first?.();
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
