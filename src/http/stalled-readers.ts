import type { Server } from "node:http";
import type { Socket } from "node:net";

/** How long a reader may take nothing, ms: looked at so often that it is cut off within a minute. */
export const STALLED_DEFAULTS = { unreadMs: 50_000, lookEveryMs: 5000 } as const;

/** How much of what was sent a client has taken, as far as it was seen last. */
interface Progress {
  /** Bytes of all writes that are done. */
  taken: number;
  /** Bytes of the one under way that the system has not taken yet. */
  queued: number;
  sinceMs: number;
}

/**
 * Cuts off clients that take nothing of what is sent to them: what they do not read is kept in this process. One that is slow but
 * takes some of it goes on, and one for whom nothing waits may be idle for as long as it likes.
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

/** Undefined where nothing waits to be taken. */
function progressOf(socket: Socket, sinceMs: number): Progress | undefined {
  if (socket.writableLength === 0) return undefined;
  // Node's own timeouts look at this too: without it the parts that are taken of one long write would not show.
  const handle = (socket as { _handle?: { writeQueueSize?: unknown } | null })._handle;
  const queued = typeof handle?.writeQueueSize === "number" ? handle.writeQueueSize : 0;
  return { taken: socket.bytesWritten - socket.writableLength, queued, sinceMs };
}
