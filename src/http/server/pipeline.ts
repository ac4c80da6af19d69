import type { Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/**
 * How many requests of a connection are handled at once. A client may send hundreds without reading an answer, and answers are
 * kept until they can be sent.
 */
const HANDLED_AT_ONCE = 8;

const LATEST = Symbol("latest");
const PIPELINE = Symbol("pipeline");

/** The requests of a client that does not wait for answers. */
interface Pipeline {
  /** How many are being handled, or answered but not yet sent. */
  handled: number;
  /** Start the remaining requests, in order; dropped if the connection ends first. */
  readonly waiting: (() => void)[];
  /** Responses behind the one that is being sent. */
  readonly behind: Set<ServerResponse>;
}

/** A connection, with the response to its last request until it is sent: kept longer, it would survive minor collections. */
type AnsweredSocket = Duplex & { [LATEST]?: ServerResponse | undefined; [PIPELINE]?: Pipeline | undefined };

/** The response to the last request of a connection; undefined if it has been sent. */
export function latestOn(socket: Duplex): ServerResponse | undefined {
  return (socket as AnsweredSocket)[LATEST];
}

/**
 * Makes it the latest response of its connection. Returns where its request must wait for those before it; undefined if it may
 * be handled now.
 */
export function follow(response: ServerResponse): Pipeline["waiting"] | undefined {
  const socket: AnsweredSocket = response.req.socket;
  const isAlone = socket[LATEST] === undefined;
  socket[LATEST] = response;
  response.on("close", leave);
  if (isAlone) return undefined;
  socket[PIPELINE] ??= { handled: 1, waiting: [], behind: new Set() };
  const pipeline = socket[PIPELINE];
  pipeline.behind.add(response);
  if (pipeline.handled >= HANDLED_AT_ONCE) return pipeline.waiting;
  pipeline.handled += 1;
  return undefined;
}

/** Closes the responses of connections that have gone: Node closes only the one that was being sent. */
export function closeBehind(server: Server): void {
  server.on("connection", (socket: AnsweredSocket) => {
    socket.once("close", () => {
      for (const response of socket[PIPELINE]?.behind ?? []) response.destroy().emit("close");
    });
  });
}

/** When a response has been sent, or its connection has gone. One function for all, since a closure for each request would cost more. */
function leave(this: ServerResponse): void {
  const socket: AnsweredSocket = this.req.socket;
  const pipeline = socket[PIPELINE];
  pipeline?.behind.delete(this);
  if (socket[LATEST] === this) socket[LATEST] = socket[PIPELINE] = undefined;
  else if (pipeline && !socket.destroyed) {
    const next = pipeline.waiting.shift();
    if (next) next();
    else pipeline.handled -= 1;
  }
}
