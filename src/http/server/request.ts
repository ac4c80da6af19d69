import type { IncomingMessage, ServerResponse } from "node:http";

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
