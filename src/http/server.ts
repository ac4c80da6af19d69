import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type Koa from "koa";
import { StartError } from "../errors.ts";
import type { Role } from "../loop.ts";
import { ApiResponse } from "./api-response.ts";

/** Limits on how requests arrive, ms. */
export const HTTP_DEFAULTS = {
  /** A request has to be there whole within this. */
  requestMs: 30_000,
  /** Its headers within this. */
  headersMs: 10_000,
  keepAliveMs: 10_000,
  /** How often connections are held against these limits. */
  checkEveryMs: 1000,
  /** How often connections are asked to end while the server stops. */
  closeEveryMs: 50,
} as const;

type ArrivalLimits = Record<"requestMs" | "headersMs" | "keepAliveMs" | "checkEveryMs", number>;

/** An HTTP server that stops gracefully: what is being answered is answered, idle connections are closed. */
export class HttpServer implements Role {
  readonly #server: Server;
  readonly #host: string;
  readonly #port: number;
  #stopping = false;

  constructor(app: Koa, options: { host: string; port: number; limits?: Partial<ArrivalLimits> }) {
    const handle = app.callback();
    const limits = { ...HTTP_DEFAULTS, ...options.limits };
    this.#server = createServer(
      {
        ServerResponse: ApiResponse,
        requestTimeout: limits.requestMs,
        headersTimeout: limits.headersMs,
        keepAliveTimeout: limits.keepAliveMs,
        connectionsCheckingInterval: limits.checkEveryMs,
        maxHeaderSize: 16_384,
      },
      (req, res) => {
        // Else a busy keep-alive connection would hold up the end for as long as its client pleases.
        if (this.#stopping) res.setHeader("Connection", "close");
        void handle(req, res);
      },
    );
    this.#host = options.host;
    this.#port = options.port;
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

  /** Takes no new connections, and resolves when the last answer is out or `withinMs` has passed. */
  async stop(withinMs = 5000): Promise<void> {
    if (!this.#server.listening) return;
    this.#stopping = true;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    const idle = setInterval(() => this.#server.closeIdleConnections(), HTTP_DEFAULTS.closeEveryMs);
    const limit = setTimeout(() => this.#server.closeAllConnections(), withinMs);
    this.#server.closeIdleConnections();
    await closed;
    clearInterval(idle);
    clearTimeout(limit);
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
