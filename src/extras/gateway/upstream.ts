import { once } from "node:events";
import http, { type ClientRequest, type IncomingMessage } from "node:http";
import https from "node:https";
import net, { isIP, type Socket } from "node:net";
import tls from "node:tls";
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
   * The connection for a request that is sent once, see {@link Upstream.connect}. Other requests use a kept-alive one if
   * possible. The API may be about to close that, and then it would be unknown whether a request arrived.
   */
  readonly socket: Socket | undefined;
}

/** How long idle connections are kept open, ms, and how many. */
const IDLE = { ms: 4000, connections: 16 } as const;

/**
 * The API behind a gateway, with its connections. Not `fetch`, which adds headers, decodes bodies, and refuses some ports and
 * bodies.
 */
export class Upstream {
  /** Its URL. */
  readonly target: URL;
  readonly #basePath: string;
  readonly #Agent: typeof http.Agent;
  readonly #agent: http.Agent;

  /** @param url its path is prepended to that of each request */
  constructor(url: URL) {
    this.target = url;
    this.#basePath = url.pathname.replace(/(?<!\/)\/+$/, "");
    this.#Agent = url.protocol === "https:" ? https.Agent : http.Agent;
    this.#agent = new this.#Agent({ keepAlive: true, maxFreeSockets: IDLE.connections, timeout: IDLE.ms });
  }

  /**
   * Sends a request; resolves with the head of the response, before its body is read.
   * @throws NoAnswer
   * @throws TypeError for a header that cannot be sent
   */
  send(request: UpstreamRequest): Promise<IncomingMessage> {
    const { socket } = request;
    if (socket === undefined) return this.#once(request, this.#agent);
    if (socket.destroyed) return Promise.reject(new NoAnswer("ECONNRESET", { sent: true, cause: undefined }));
    return this.#once(request, Object.assign(new this.#Agent(), { createConnection: () => socket }));
  }

  /** A new connection, over which nothing has been sent. @throws NoAnswer */
  async connect(signal: AbortSignal): Promise<Socket> {
    const { protocol, port } = this.target;
    const host = this.target.hostname.replace(/^\[|\]$/g, "");
    const secure = protocol === "https:";
    const to = { host, port: Number(port || (secure ? 443 : 80)), signal };
    const name = isIP(host) === 0 ? { servername: host } : {};
    const socket = secure ? tls.connect({ ...to, ...name, ALPNProtocols: ["http/1.1"] }) : net.connect(to);
    // Once connected, the code that uses it handles its errors; until then an error must not end the process.
    socket.on("error", () => undefined);
    try {
      await once(socket, secure ? "secureConnect" : "connect");
      return socket;
    } catch (error) {
      socket.destroy();
      const { code } = error as NodeJS.ErrnoException;
      throw new NoAnswer(code ?? messageOf(error), { sent: false, cause: error });
    }
  }

  async #once(given: UpstreamRequest, agent: http.Agent | false): Promise<IncomingMessage> {
    const { method, headers, body, signal } = given;
    let request: ClientRequest | undefined;
    let connected = given.socket !== undefined;
    const watch = (made: ClientRequest) => {
      request = made;
      made.on("socket", (socket) => {
        if (made.reusedSocket || connected) return;
        socket.once(this.target.protocol === "https:" ? "secureConnect" : "connect", () => {
          connected = true;
        });
      });
    };
    try {
      const path = this.#basePath + given.path;
      return await sendRequest(this.target, { method, path, headers, body, signal, agent }, watch);
    } catch (error) {
      if (request === undefined) throw error;
      const { code } = error as NodeJS.ErrnoException;
      // The connection was closed while it was idle: send the request on a new one.
      if (request.reusedSocket && code === "ECONNRESET" && !signal.aborted) return await this.#once(given, false);
      throw new NoAnswer(code ?? messageOf(error), { sent: connected || request.reusedSocket, cause: error });
    }
  }
}
