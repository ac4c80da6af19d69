import { AsyncResource } from "node:async_hooks";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, Server as NetServer, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import type Koa from "koa";
import { StartError } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import type { Role } from "../../loop.ts";
import { HEAD_BYTES, refuse } from "./client-error.ts";
import { limitUnread, linger, UNREAD_DEFAULTS } from "./unread.ts";

/** Time limits of connections and requests, ms. */
export const HTTP_DEFAULTS = {
  /** For receiving a whole request. */
  requestMs: 30_000,
  /** For receiving its headers. */
  headersMs: 10_000,
  keepAliveMs: 10_000,
  /** How often connections are checked against these limits. */
  checkEveryMs: 1000,
  /** Shortest time between two log lines about too many connections. */
  logEveryMs: 60_000,
  /** How long a stop goes on accepting connections that wait for it, if there are always more. */
  backlogMs: 1000,
  /** How long idle connections stay open after the stop begins, since a request may already be on its way. */
  idleMs: 500,
  /** How often idle connections are closed after that. */
  closeEveryMs: 50,
  /** How long a client may read nothing of what is sent to it: at most twice as long, since Node begins this time anew once. */
  unreadMs: 28_000,
  ...UNREAD_DEFAULTS,
  /** How long responses to callers that are still waiting may take at the end. */
  lastAnswersMs: 5000,
} as const;

type Limits = Record<
  "requestMs" | "headersMs" | "keepAliveMs" | "checkEveryMs" | "unreadMs" | keyof typeof UNREAD_DEFAULTS,
  number
>;

/** Where a server listens, its limits, and the signals of its stop. */
export interface HttpServerOptions {
  readonly host: string;
  readonly port: number;
  readonly limits?: Partial<Limits>;
  /** Further connections are closed at once. Absent: no limit. */
  readonly maxConnections?: number;
  readonly log?: Logger;
  /** Aborted when the stop begins. */
  readonly stopping?: AbortController;
  /** Aborted when the time for responses is over: waiting callers get the current state. */
  readonly closing?: AbortController;
  /** What names its port, for errors. Default: PORT. */
  readonly setting?: string;
  /**
   * The application passes on what is for somebody else: it answers expectations itself, and gets the connections of upgrades, with what has
   * been read of them.
   */
  readonly forwards?: {
    readonly Request: typeof IncomingMessage;
    readonly Response: typeof ServerResponse;
    upgrade(req: IncomingMessage, socket: Socket, head: Buffer): void;
  };
}

/** An HTTP server that stops gracefully: it answers pending requests and closes idle connections. */
export class HttpServer implements Role {
  readonly #server: Server;
  readonly #host: string;
  readonly #port: number;
  readonly #setting: string;
  readonly #stopping: AbortController;
  readonly #closing: AbortController;
  #stopped: Promise<void> | undefined;

  constructor(app: Koa, options: HttpServerOptions) {
    const { stopping = new AbortController(), closing = new AbortController(), forwards } = options;
    this.#stopping = stopping;
    this.#closing = closing;
    const handle = app.callback();
    const limits = { ...HTTP_DEFAULTS, ...options.limits };
    const pipelines = new WeakMap<Duplex, Pipeline>();
    const onRequest = (req: IncomingMessage, res: ServerResponse) => {
      const pipeline = pipelines.get(req.socket) ?? new Pipeline(req.socket);
      pipelines.set(req.socket, pipeline);
      pipeline.add(res, () => void handle(req, res));
    };
    this.#server = createServer(
      {
        requestTimeout: limits.requestMs,
        headersTimeout: limits.headersMs,
        keepAliveTimeout: limits.keepAliveMs,
        connectionsCheckingInterval: limits.checkEveryMs,
        maxHeaderSize: HEAD_BYTES,
        // The application answers these with a problem document; Node would answer without a body, or drop headers.
        requireHostHeader: false,
        ...(forwards && { IncomingMessage: forwards.Request, ServerResponse: forwards.Response }),
      },
      onRequest,
    );
    this.#server.maxHeadersCount = 0;
    limitUnread(this.#server, limits);
    // Not a client that waits for its answer.
    this.#server.setTimeout(limits.unreadMs, (socket) => {
      if (socket.writableLength > 0 || pipelines.get(socket)?.latest === undefined) socket.destroy();
    });
    if (options.maxConnections !== undefined) this.#bound(options.maxConnections, options.log);
    this.#server.on("checkContinue", (req: IncomingMessage, res: ServerResponse) => {
      if (!forwards) continueWhenRead(req, res);
      onRequest(req, res);
    });
    if (forwards) {
      this.#server.on("upgrade", (req: IncomingMessage, socket: Socket, head: Buffer) => {
        socket.setTimeout(0);
        forwards.upgrade(req, socket, head);
      });
    }
    // Other expectations are ignored (RFC 9110 §10.1.1); Node would answer 417 by itself, without our headers and in no order.
    this.#server.on("checkExpectation", onRequest);
    this.#server.on("clientError", (error, socket) => refuse(error, socket, pipelines.get(socket)?.latest));
    this.#host = options.host;
    this.#port = options.port;
    this.#setting = options.setting ?? "PORT";
  }

  #bound(maxConnections: number, log: Logger | undefined): void {
    this.#server.maxConnections = maxConnections;
    let loggedMs = Number.NEGATIVE_INFINITY;
    this.#server.on("drop", () => {
      if (performance.now() - loggedMs < HTTP_DEFAULTS.logEveryMs) return;
      loggedMs = performance.now();
      log?.warn({ maxConnections }, "http: MAX_CONNECTIONS are open; closing new connections");
    });
  }

  /** The actual port, even if 0 was configured. */
  get port(): number {
    return (this.#server.address() as AddressInfo | null)?.port ?? this.#port;
  }

  /** Where it listens. */
  get url(): string {
    const host = this.#host;
    return `http://${host.includes(":") ? `[${host}]` : host}:${this.port}`;
  }

  /** How many connections are open. */
  connections(): Promise<number> {
    return new Promise((resolve) => this.#server.getConnections((_, connections) => resolve(connections ?? 0)));
  }

  /** @throws StartError if the address is in use or does not belong to this machine */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", (error: NodeJS.ErrnoException) => reject(this.#startError(error)));
      this.#server.listen(this.#port, this.#host, () => resolve());
    });
  }

  /**
   * Accepts no new connections, answers with `Connection: close` from now on, and resolves when the last response is sent.
   * @param withinMs how long responses may take; then `closing` is aborted, and connections still open soon after are cut
   * @param replaced whether another process accepts connections on this port: idle ones then stay open as long as their clients were
   *   told, since each may be about to send a request
   */
  stop(withinMs = 0, replaced = false): Promise<void> {
    this.#stopped ??= this.#drain(withinMs, replaced);
    return this.#stopped;
  }

  async #drain(withinMs: number, replaced: boolean): Promise<void> {
    if (!this.#server.listening) return;
    this.#stopping.abort();
    let timer = setTimeout(() => {
      this.#closing.abort();
      timer = setTimeout(() => this.#server.closeAllConnections(), HTTP_DEFAULTS.lastAnswersMs);
    }, withinMs);
    await this.#emptyBacklog();
    let isClosed = false;
    let idle: NodeJS.Timeout | undefined;
    const closeIdle = () => {
      if (isClosed) return;
      this.#server.closeIdleConnections();
      // Timers run before sockets are read: a request that has arrived meanwhile is read first.
      idle = setTimeout(() => setImmediate(closeIdle), HTTP_DEFAULTS.closeEveryMs);
    };
    if (!replaced) idle = setTimeout(() => setImmediate(closeIdle), Math.min(HTTP_DEFAULTS.idleMs, withinMs));
    // Closes the listener alone; `close` of an HTTP server also closes idle connections, on which a request may be on its way.
    await new Promise<void>((resolve) => NetServer.prototype.close.call(this.#server, () => resolve()));
    // The last connection may have ended between the timer and its next turn.
    isClosed = true;
    clearTimeout(idle);
    clearTimeout(timer);
    // Stops checking the time limits of requests.
    this.#server.close();
  }

  /** Accepts the connections that wait for it: the system resets them when the listener is closed. */
  async #emptyBacklog(): Promise<void> {
    const deadline = performance.now() + HTTP_DEFAULTS.backlogMs;
    let accepted = true;
    const note = () => {
      accepted = true;
    };
    this.#server.on("connection", note);
    // In each turn of the event loop, of which this is the rest of one, Node may accept a single connection.
    await new Promise(setImmediate);
    while (accepted && performance.now() < deadline) {
      accepted = false;
      await new Promise(setImmediate);
    }
    this.#server.off("connection", note);
  }

  #startError(error: NodeJS.ErrnoException): StartError {
    const where = `${this.#host}:${this.#port}`;
    if (error.code === "EADDRINUSE") {
      return new StartError(
        `${this.#setting} is ${this.#port}, but ${where} is taken by another process; expected a free port`,
      );
    }
    if (error.code === "EACCES")
      return new StartError(`${this.#setting} is ${this.#port}, but this user may not listen on ${where}`);
    return new StartError(`cannot listen on ${where}: ${error.message}`, { cause: error });
  }
}

/**
 * Sends 100 Continue only when the body is read, so that a client that waits for it (RFC 9110 §10.1.1) gets a 413 or 415 before
 * it sends the body. It may send the body even after such an answer, so Node then closes the connection.
 */
function continueWhenRead(req: IncomingMessage, res: ServerResponse): void {
  req.on("newListener", function begin(event) {
    if (event !== "data" && event !== "readable") return;
    req.off("newListener", begin);
    // After the response, the rest of the body is read only to discard it.
    if (!res.headersSent) res.writeContinue();
  });
}

/**
 * How many requests of a connection are handled at once. A client may send hundreds without reading an answer, and answers are
 * kept until they can be sent.
 */
const HANDLED_AT_ONCE = 8;

/** The requests of one connection, whose client need not wait for answers: a few are handled at once, the others wait. */
class Pipeline {
  /** Responses that are not completely sent, in their order. */
  readonly #unsent = new Set<ServerResponse>();
  /** Start the requests of the last of them. */
  readonly #waiting: (() => void)[] = [];

  readonly #socket: Socket;

  constructor(socket: Socket) {
    this.#socket = socket;
    const close = socket.destroySoon.bind(socket);
    // Node closes a connection by this once it has sent the last response. While a request still arrives, only our side is closed.
    socket.destroySoon = () => {
      const { req: request } = this.latest ?? {};
      if (!request || request.complete) return close();
      socket.end();
      this.#discardRest(request);
    };
    socket.once("close", () => {
      // Node tells only the response that it was sending.
      for (const response of this.#unsent) if (response.socket === null) response.destroy().emit("close");
    });
  }

  /** The response to the latest request; undefined if all are sent. */
  get latest(): ServerResponse | undefined {
    return [...this.#unsent].at(-1);
  }

  /** Calls `handle` when its turn has come; never if the connection ends first. */
  add(response: ServerResponse, handle: () => void): void {
    this.#unsent.add(response);
    response.on("close", () => {
      this.#unsent.delete(response);
      if (this.#socket.destroyed) return;
      if (!response.req.complete && !this.#socket.writableEnded) this.#discardRest(response.req);
      this.#waiting.shift()?.();
    });
    if (this.#unsent.size <= HANDLED_AT_ONCE) handle();
    // Not in the context of the request whose answer lets it begin.
    else this.#waiting.push(AsyncResource.bind(handle));
  }

  /** Reads the rest of a request that has been answered, or never will be. */
  #discardRest(request: IncomingMessage): void {
    const end = linger(this.#socket);
    request.once("close", () => {
      end();
      if (this.#socket.writableEnded) this.#socket.destroy();
    });
    request.resume();
  }
}
