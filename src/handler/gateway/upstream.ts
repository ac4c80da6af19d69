import http, { type ClientRequest, type IncomingMessage } from "node:http";
import https from "node:https";
import { messageOf } from "../../errors.ts";
import { sendRequest } from "../../net/guarded-request.ts";

/** A request got no response. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
  /** Whether there was a connection, so that the API may have received the request. */
  readonly sent: boolean;
  constructor(message: string, options: { sent: boolean; cause: unknown }) {
    super(message, { cause: options.cause });
    this.sent = options.sent;
  }
}

/** A request to send. */
interface UpstreamRequest {
  readonly method: string;
  /** Path and query, byte for byte as in the request line. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
  readonly signal: AbortSignal;
  /**
   * Whether it may be sent twice. Only then is a kept-alive connection used: the API may be about to close that, and then it
   * would be unknown whether the request arrived.
   */
  readonly repeatable: boolean;
}

/** How long idle connections are kept open, ms, and how many. */
const IDLE = { ms: 4000, connections: 16 } as const;

/**
 * The API behind a gateway, with its connections. Not `fetch`, which adds headers, decodes bodies, and refuses some ports and
 * bodies.
 */
export class Upstream {
  readonly #url: URL;
  readonly #basePath: string;
  readonly #agent: http.Agent;

  /** @param url its path is prepended to that of each request */
  constructor(url: URL) {
    this.#url = url;
    this.#basePath = url.pathname.replace(/\/+$/, "");
    const Agent = url.protocol === "https:" ? https.Agent : http.Agent;
    this.#agent = new Agent({ keepAlive: true, maxFreeSockets: IDLE.connections, timeout: IDLE.ms });
  }

  /**
   * Sends a request; resolves with the head of the response, before its body is read.
   * @throws NoAnswer
   * @throws TypeError for a header that cannot be sent
   */
  send(request: UpstreamRequest): Promise<IncomingMessage> {
    return this.#once(request, request.repeatable ? this.#agent : false);
  }

  async #once(given: UpstreamRequest, agent: http.Agent | false): Promise<IncomingMessage> {
    const { method, headers, body, signal } = given;
    let request: ClientRequest | undefined;
    let connected = false;
    const watch = (made: ClientRequest) => {
      request = made;
      made.on("socket", (socket) => {
        if (made.reusedSocket) return;
        socket.once(this.#url.protocol === "https:" ? "secureConnect" : "connect", () => {
          connected = true;
        });
      });
    };
    try {
      const path = this.#basePath + given.path;
      return await sendRequest(this.#url, { method, path, headers, body, signal, agent }, watch);
    } catch (error) {
      if (request === undefined) throw error;
      const { code } = error as NodeJS.ErrnoException;
      // The connection was closed while it was idle: send the request on a new one.
      if (request.reusedSocket && code === "ECONNRESET" && !signal.aborted) return await this.#once(given, false);
      throw new NoAnswer(code ?? messageOf(error), { sent: connected || request.reusedSocket, cause: error });
    }
  }
}
