import type { IncomingMessage, ServerResponse } from "node:http";

/** The longest body that arrives in one piece: how much Node reads from a socket at once. */
const PIECE_BYTES = 65_536;

/**
 * Whether a body may arrive together with its head, as nearly all do: then {@link takeBody} has it in the next tick. As a
 * stream it would take several ticks, listeners and promises.
 */
export function isShort(req: IncomingMessage): boolean {
  const length = Number(req.headers["content-length"] ?? 0);
  return length > 0 && length <= PIECE_BYTES;
}

/** The body if it has arrived completely; undefined if it must be read as a stream. */
export function takeBody(req: IncomingMessage): Buffer | undefined {
  if (req.readableLength === 0 || req.readableLength !== Number(req.headers["content-length"])) return undefined;
  return req.read() as Buffer;
}

/**
 * Sends 100 Continue only when the body is read, so that a client that waits for it (RFC 9110 §10.1.1) gets a 413 or 415 before
 * it sends the body. It may send the body even after such an answer, so Node then closes the connection.
 */
export function continueWhenRead(req: IncomingMessage, res: ServerResponse): void {
  req.on("newListener", function begin(event) {
    if (event !== "data" && event !== "readable") return;
    req.off("newListener", begin);
    // After the response, the rest of the body is read only to discard it.
    if (!res.headersSent) res.writeContinue();
  });
}
