import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type Koa from "koa";
import { StartError } from "../errors.ts";
import type { Logger } from "../log.ts";
import type { Role } from "../loop.ts";
import { ApiRequest } from "./api-request.ts";
import { ApiResponse } from "./api-response.ts";
import { HEAD_BYTES, refuse } from "./problems/client-error.ts";
import { cutStalledReaders, STALLED_DEFAULTS } from "./stalled-readers.ts";

/** Limits on how requests arrive, ms. */
export const HTTP_DEFAULTS = {
  /** A request has to be there whole within this. */
  requestMs: 30_000,
  /** Its headers within this. */
  headersMs: 10_000,
  keepAliveMs: 10_000,
  /** How often connections are held against these limits. */
  checkEveryMs: 1000,
  /** How often it is logged that connections are too many. */
  tellEveryMs: 60_000,
  /** How often connections are asked to end while the server stops. */
  closeEveryMs: 50,
  ...STALLED_DEFAULTS,
  /** Once callers who were held are let go: time for their answers to go out. */
  lastAnswersMs: 5000,
} as const;

type Limits = Record<"requestMs" | "headersMs" | "keepAliveMs" | "checkEveryMs" | "unreadMs" | "lookEveryMs", number>;

/** Where a server listens, and whom it tells that it stops. */
export interface HttpServerOptions {
  readonly host: string;
  readonly port: number;
  readonly limits?: Partial<Limits>;
  /** Connections beyond so many are closed at once. Left out: any number. */
  readonly maxConnections?: number;
  readonly log?: Logger;
  /** Aborted when it begins to stop. */
  readonly stopping?: AbortController;
  /** Aborted when its time for answers is over: whoever is held is to be let go. */
  readonly closing?: AbortController;
}

/** An HTTP server that stops gracefully: what is being answered is answered, idle connections are closed. */
export class HttpServer implements Role {
  readonly #server: Server;
  readonly #host: string;
  readonly #port: number;
  readonly #stopping: AbortController;
  readonly #closing: AbortController;
  #stopped: Promise<void> | undefined;

  constructor(app: Koa, options: HttpServerOptions) {
    const { stopping = new AbortController(), closing = new AbortController() } = options;
    this.#stopping = stopping;
    this.#closing = closing;
    const handle = app.callback();
    const limits = { ...HTTP_DEFAULTS, ...options.limits };
    const latest = new WeakMap<Duplex, ServerResponse>();
    const onRequest = (req: ApiRequest, res: ApiResponse<ApiRequest>) => {
      latest.set(req.socket, res);
      // Else a busy keep-alive connection would hold up the end for as long as its client pleases.
      res.stopping = stopping.signal;
      void handle(req, res);
    };
    this.#server = createServer(
      {
        IncomingMessage: ApiRequest,
        ServerResponse: ApiResponse,
        requestTimeout: limits.requestMs,
        headersTimeout: limits.headersMs,
        keepAliveTimeout: limits.keepAliveMs,
        connectionsCheckingInterval: limits.checkEveryMs,
        maxHeaderSize: HEAD_BYTES,
        // What is missing, or more than it may be, is said by the application: Node says it without a word, or drops it.
        requireHostHeader: false,
      },
      onRequest,
    );
    this.#server.maxHeadersCount = 0;
    cutStalledReaders(this.#server, limits);
    if (options.maxConnections !== undefined) this.#bound(options.maxConnections, options.log);
    this.#server.on("checkContinue", (req: ApiRequest, res: ApiResponse<ApiRequest>) => {
      req.continueWhenRead(res);
      onRequest(req, res);
    });
    this.#server.on("clientError", (error, socket) => refuse(error, socket, latest.get(socket)));
    this.#host = options.host;
    this.#port = options.port;
  }

  #bound(maxConnections: number, log: Logger | undefined): void {
    this.#server.maxConnections = maxConnections;
    let toldMs = Number.NEGATIVE_INFINITY;
    this.#server.on("drop", () => {
      if (performance.now() - toldMs < HTTP_DEFAULTS.tellEveryMs) return;
      toldMs = performance.now();
      log?.warn({ maxConnections }, "new connections are closed: MAX_CONNECTIONS are open");
    });
  }

  /** The port that is listened on; of use where 0 was asked for. */
  get port(): number {
    return (this.#server.address() as AddressInfo | null)?.port ?? this.#port;
  }

  /** @throws StartError when the address is taken or not this machine's */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", (error: NodeJS.ErrnoException) => reject(this.#startError(error)));
      this.#server.listen(this.#port, this.#host, () => resolve());
    });
  }

  /**
   * Takes no new connections, and resolves when the last answer is out.
   * @param withinMs how long answers may take; then `closing` fires, and what is not answered soon after that is cut off
   */
  stop(withinMs = 0): Promise<void> {
    this.#stopped ??= this.#drain(withinMs);
    return this.#stopped;
  }

  async #drain(withinMs: number): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#stopping.abort();
    const idle = setInterval(() => this.#server.closeIdleConnections(), HTTP_DEFAULTS.closeEveryMs);
    let timer = setTimeout(() => {
      this.#closing.abort();
      timer = setTimeout(() => this.#server.closeAllConnections(), HTTP_DEFAULTS.lastAnswersMs);
    }, withinMs);
    this.#server.closeIdleConnections();
    await closed;
    clearInterval(idle);
    clearTimeout(timer);
  }

  #startError(error: NodeJS.ErrnoException): StartError {
    const where = `${this.#host}:${this.#port}`;
    if (error.code === "EADDRINUSE") {
      return new StartError(`PORT is ${this.#port}, but ${where} is taken by another process; expected a free port`);
    }
    if (error.code === "EACCES")
      return new StartError(`PORT is ${this.#port}, but this user may not listen on ${where}`);
    return new StartError(`cannot listen on ${where}: ${error.message}`, { cause: error });
  }
}
