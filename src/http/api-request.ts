import { IncomingMessage, type ServerResponse } from "node:http";

/** A request that knows when its body is asked for. */
export class ApiRequest extends IncomingMessage {
  #beforeBody: (() => void) | undefined;

  override _read(size: number): void {
    const first = this.#beforeBody;
    this.#beforeBody = undefined;
    first?.();
    super._read(size);
  }

  /**
   * Sends 100 Continue when the body is read, not before: a client that waits for it (RFC 9110 §10.1.1) is told of a 413 or 415
   * while it still has its body. Whether it sends that after such an answer nobody can know: the connection ends with it.
   */
  continueWhenRead(response: ServerResponse): void {
    const keep = response.shouldKeepAlive;
    response.shouldKeepAlive = false;
    this.#beforeBody = () => {
      // What is left of a body is thrown away after the answer: nobody has asked for it.
      if (response.headersSent) return;
      response.shouldKeepAlive = keep;
      response.writeContinue();
    };
  }
}
