import type { Server } from "node:http";
import type { Socket } from "node:net";

/** What clients may leave unread, and how often that is checked, ms. */
export const STALLED_DEFAULTS = {
  /** How long a client may read nothing; with the time until the next check, less than a minute. */
  unreadMs: 50_000,
  lookEveryMs: 5000,
  /** How much all clients together may leave unread. Above it, the slowest get less time. */
  unreadBytes: 128 * 1024 ** 2,
  /** What a client must then have read since the last check, unless it has read all its data. */
  readBytes: 64 * 1024,
} as const;

/** How much of its data a client had read at the last check. */
interface Progress {
  /** Bytes of finished writes. */
  taken: number;
  /** Bytes of the current write that the system has not accepted yet. */
  queued: number;
  sinceMs: number;
}

type Limits = Record<keyof typeof STALLED_DEFAULTS, number>;

/**
 * Closes the connections of clients that do not read, since their data is buffered in this process. Clients that read slowly are
 * left alone unless too much is buffered for all together: then those with the most are closed first. Idle ones with nothing to read
 * are left alone.
 */
export function cutStalledReaders(server: Server, limits: Limits): void {
  const open = new Map<Socket, Progress | undefined>();
  server.on("connection", (socket: Socket) => {
    open.set(socket, undefined);
    socket.once("close", () => open.delete(socket));
  });
  const look = () => {
    const nowMs = performance.now();
    const slow: Socket[] = [];
    let unread = 0;
    for (const [socket, before] of open) {
      const now = progressOf(socket, nowMs);
      const read = before && now ? bytesRead(before, now) : Number.POSITIVE_INFINITY;
      if (before && read === 0 && nowMs - before.sinceMs >= limits.unreadMs) {
        socket.destroy();
        continue;
      }
      unread += socket.writableLength;
      if (read < limits.readBytes) slow.push(socket);
      if (read !== 0) open.set(socket, now);
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

/** Undefined if nothing is waiting to be read. */
function progressOf(socket: Socket, sinceMs: number): Progress | undefined {
  if (socket.writableLength === 0) return undefined;
  // As for Node's own timeouts: otherwise progress within one long write would not be noticed.
  const handle = (socket as { _handle?: { writeQueueSize?: unknown } | null })._handle;
  const queued = typeof handle?.writeQueueSize === "number" ? handle.writeQueueSize : 0;
  return { taken: socket.bytesWritten - socket.writableLength, queued, sinceMs };
}

/** The least that was read between two checks: when a write has ended, the next may have begun. */
function bytesRead(before: Progress, now: Progress): number {
  return now.taken === before.taken ? Math.abs(before.queued - now.queued) : now.taken - before.taken;
}
