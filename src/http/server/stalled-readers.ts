import type { Server } from "node:http";
import type { Socket } from "node:net";

/** How long a client may read nothing, and how often that is checked, ms: together under a minute. */
export const STALLED_DEFAULTS = { unreadMs: 50_000, lookEveryMs: 5000 } as const;

/** How much of its data a client had read at the last check. */
interface Progress {
  /** Bytes of finished writes. */
  taken: number;
  /** Bytes of the current write that the system has not accepted yet. */
  queued: number;
  sinceMs: number;
}

/**
 * Closes the connections of clients that do not read, since their data is buffered in this process. Clients that read slowly,
 * and idle ones with nothing to read, are left alone.
 */
export function cutStalledReaders(server: Server, limits: { unreadMs: number; lookEveryMs: number }): void {
  const open = new Map<Socket, Progress | undefined>();
  server.on("connection", (socket: Socket) => {
    open.set(socket, undefined);
    socket.once("close", () => open.delete(socket));
  });
  const look = () => {
    const nowMs = performance.now();
    for (const [socket, before] of open) {
      const now = progressOf(socket, nowMs);
      const stalled = before !== undefined && before.taken === now?.taken && before.queued === now.queued;
      if (!stalled) open.set(socket, now);
      else if (nowMs - before.sinceMs >= limits.unreadMs) socket.destroy();
    }
  };
  let timer: NodeJS.Timeout | undefined;
  server.on("listening", () => {
    timer = setInterval(look, limits.lookEveryMs).unref();
  });
  server.on("close", () => clearInterval(timer));
}

/** Undefined if nothing is waiting to be read. */
function progressOf(socket: Socket, sinceMs: number): Progress | undefined {
  if (socket.writableLength === 0) return undefined;
  // Like Node's own timeouts: otherwise progress within one long write would not be noticed.
  const handle = (socket as { _handle?: { writeQueueSize?: unknown } | null })._handle;
  const queued = typeof handle?.writeQueueSize === "number" ? handle.writeQueueSize : 0;
  return { taken: socket.bytesWritten - socket.writableLength, queued, sinceMs };
}
