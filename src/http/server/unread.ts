import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";

/** What all clients together may leave unread, and how often that is checked, ms. */
export const UNREAD_DEFAULTS = {
  lookEveryMs: 5000,
  /** Above it, the slowest are disconnected. */
  unreadBytes: 128 * 1024 ** 2,
  /** What a client must then have read since the last check, unless it has read all its data. */
  readBytes: 64 * 1024,
} as const;

type Limits = Record<keyof typeof UNREAD_DEFAULTS, number>;

/** While too much is buffered for clients that have not read it, disconnects the slow ones, those with the most unread first. */
export function limitUnread(server: Server, limits: Limits): void {
  /** How much each had read at the last check; undefined if nothing was left. */
  const open = new Map<Socket, number | undefined>();
  server.on("connection", (socket: Socket) => {
    open.set(socket, undefined);
    socket.once("close", () => open.delete(socket));
  });
  const look = () => {
    const slow: Socket[] = [];
    let unread = 0;
    for (const [socket, before] of open) {
      const left = socket.writableLength;
      const read = socket.bytesWritten - left;
      unread += left;
      if (left > 0 && before !== undefined && read - before < limits.readBytes) slow.push(socket);
      open.set(socket, left > 0 ? read : undefined);
    }
    slow.sort((one, other) => other.writableLength - one.writableLength);
    for (const socket of slow) {
      if (unread <= limits.unreadBytes) return;
      unread -= socket.writableLength;
      socket.destroy();
    }
  };
  let timer: NodeJS.Timeout | undefined;
  server.on("listening", () => {
    timer = setInterval(look, limits.lookEveryMs).unref();
  });
  server.on("close", () => clearInterval(timer));
}

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

/**
 * Lets Node, which closes a connection by `destroySoon` once the last answer is sent, close only our side of it while a request still
 * arrives, whose rest is read and discarded.
 */
export function closeGently(request: IncomingMessage): void {
  const { socket } = request;
  socket.destroySoon = () => {
    socket.end();
    const end = linger(socket);
    request.once("close", () => {
      end();
      socket.destroy();
    });
    request.resume();
  };
}
