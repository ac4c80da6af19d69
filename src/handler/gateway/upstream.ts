import http, { type IncomingMessage } from "node:http";
import https from "node:https";

/** A request that got no answer. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
  /** Whether a connection was there, so that the API may have received the request. */
  readonly sent: boolean;
  constructor(message: string, options: { sent: boolean; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.sent = options.sent;
  }
}

/** A request as it is sent. */
interface UpstreamRequest {
  readonly method: string;
  /** Path and query, byte for byte as they go into the request line. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
  readonly signal: AbortSignal;
  /**
   * Whether it may be sent a second time. Only then does it go over a connection that was left open: the API may be about to close
   * that, and nobody could tell whether the request had arrived.
   */
  readonly repeatable: boolean;
}

/** How long an idle connection is kept open, ms, and how many are. */
const IDLE = { ms: 4000, connections: 16 } as const;

/** The API behind a gateway, with its connections. Not `fetch`: that adds headers, decodes bodies, and refuses ports and bodies. */
export class Upstream {
  readonly #url: URL;
  readonly #basePath: string;
  readonly #agent: http.Agent;

  /** @param url whose path is put before that of each request */
  constructor(url: URL) {
    this.#url = url;
    this.#basePath = url.pathname.replace(/\/+$/, "");
    const Agent = url.protocol === "https:" ? https.Agent : http.Agent;
    this.#agent = new Agent({ keepAlive: true, maxFreeSockets: IDLE.connections, timeout: IDLE.ms });
  }

  /**
   * Sends a request; resolves with the head of its answer, whose body is still to be read.
   * @throws NoAnswer
   * @throws TypeError for a header that cannot be sent
   */
  send(request: UpstreamRequest): Promise<IncomingMessage> {
    return this.#once(request, request.repeatable ? this.#agent : false);
  }

  #once(given: UpstreamRequest, agent: http.Agent | false): Promise<IncomingMessage> {
    const { method, headers, body, signal } = given;
    const { protocol, hostname, port } = this.#url;
    const secure = protocol === "https:";
    return new Promise((resolve, reject) => {
      let sent = false;
      const request = (secure ? https : http).request({
        ...{ protocol, hostname: hostname.replace(/^\[(.*)\]$/, "$1"), port, method, agent, signal },
        path: this.#basePath + given.path,
        headers: body === undefined ? headers : { ...headers, "content-length": body.length },
      });
      request.on("socket", (socket) => {
        if (request.reusedSocket) sent = true;
        else {
          socket.once(secure ? "secureConnect" : "connect", () => {
            sent = true;
          });
        }
      });
      request.on("response", resolve);
      request.on("error", (error: NodeJS.ErrnoException) => {
        // The connection was closed while it was idle: the request is sent over one of its own.
        if (request.reusedSocket && error.code === "ECONNRESET" && !signal.aborted) {
          resolve(this.#once(given, false));
        } else {
          reject(new NoAnswer(error.code ?? error.message, { sent, cause: error }));
        }
      });
      // Some ends are neither, e.g. a switch of protocols that nobody asked for.
      request.on("close", () => reject(new NoAnswer("it closed the connection without an answer", { sent })));
      request.end(body);
    });
  }
}
