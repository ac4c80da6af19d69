import type { Duplex } from "node:stream";

/** How long a client may go on sending a request that has been answered, ms, and how much. */
const LINGER = { ms: 10_000, bytes: 64 * 1024 ** 2, lookEveryMs: 100 } as const;

/**
 * Gives a client time to send the rest of a request that has been answered, which is read and discarded: closing a connection with
 * unread bytes resets it, and the client could lose the answer (RFC 9112 §9.6). Closes the connection after {@link LINGER}, unless the
 * returned function is called before.
 */
export function linger(socket: Duplex & { readonly bytesRead?: number }): () => void {
  const { bytesRead = 0 } = socket;
  const deadline = performance.now() + LINGER.ms;
  const timer = setInterval(() => {
    if (performance.now() > deadline || (socket.bytesRead ?? 0) - bytesRead > LINGER.bytes) socket.destroy();
  }, LINGER.lookEveryMs);
  const end = () => {
    clearInterval(timer);
    // The connection may serve many more requests.
    socket.removeListener("close", end);
  };
  socket.once("close", end);
  return end;
}
