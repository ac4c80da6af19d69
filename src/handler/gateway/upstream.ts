import http, { type ClientRequest, type IncomingMessage } from "node:http";
import https from "node:https";
import { messageOf } from "../../errors.ts";
import { sendRequest } from "../../net/guarded-request.ts";

/** A request that got no answer. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
  /** Whether a connection was there, so that the API may have received the request. */
  readonly sent: boolean;
  constructor(message: string, options: { sent: boolean; cause: unknown }) {
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
      // The connection was closed while it was idle: the request is sent over one of its own.
      if (request.reusedSocket && code === "ECONNRESET" && !signal.aborted) return await this.#once(given, false);
      throw new NoAnswer(code ?? messageOf(error), { sent: connected || request.reusedSocket, cause: error });
    }
  }
}
