import type { IncomingMessage, ServerResponse } from "node:http";

/** A longer body does not arrive in one piece: Node reads as much from a socket at once. */
const PIECE_BYTES = 65_536;

/**
 * Whether a body may arrive in one piece with its head, as nearly all do: then {@link takeBody} has it in the next tick, and handling the
 * request waits for nothing but the store. As a stream it would take several ticks, with listeners and promises.
 */
export function isShort(req: IncomingMessage): boolean {
  const length = Number(req.headers["content-length"] ?? 0);
  return length > 0 && length <= PIECE_BYTES;
}

/** The body if all of it has arrived; undefined if it has to be read as a stream. */
export function takeBody(req: IncomingMessage): Buffer | undefined {
  if (req.readableLength === 0 || req.readableLength !== Number(req.headers["content-length"])) return undefined;
  return req.read() as Buffer;
}

/**
 * Sends 100 Continue when the body is read, not before: a client that waits for it (RFC 9110 §10.1.1) gets a 413 or 415 before it sends
 * the body. Whether it sends the body after such an answer is unknown, so Node then closes the connection.
 */
export function continueWhenRead(req: IncomingMessage, res: ServerResponse): void {
  req.on("newListener", function begin(event) {
    if (event !== "data" && event !== "readable") return;
    req.off("newListener", begin);
    // After the response, the rest of the body is only read to be discarded.
    if (!res.headersSent) res.writeContinue();
  });
}
