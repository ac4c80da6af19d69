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

/** A request whose body follows, if it has one. */
interface BegunRequest {
  readonly method: string;
  /** Path and query, byte for byte as in the request line. */
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  /**
   * `any`: a kept one if possible, for a request that may be sent again. `recent`: one that was in use less than {@link IDLE} `recentMs` ago,
   * which the API is hardly about to close. `new`: one that is used once, and of which each side can be ended alone.
   */
  readonly connection: "any" | "recent" | "new";
}

/** How long idle connections are kept open, ms, and how many. */
const IDLE = { ms: 4000, recentMs: 1000, connections: 256 } as const;
/** Longest head of an answer, bytes. */
const HEAD_BYTES = 65_536;

/**
 * The API behind a gateway, with its connections. Not `fetch`, which adds headers, decodes bodies, and refuses some ports and
 * bodies.
 */
export class Upstream {
  /** Its URL. */
  readonly target: URL;
  readonly #basePath: string;
  readonly #host: string;
  readonly #port: number;
  readonly #request: typeof http.request;
  readonly #Agent: typeof http.Agent;
  readonly #agent: http.Agent;
  /** For requests that may not meet a connection that the API is closing. */
  readonly #recent: http.Agent;
  /** The event of a socket that is connected. */
  readonly connectEvent: "connect" | "secureConnect";

  /** @param url its path is prepended to that of each request */
  constructor(url: URL) {
    this.target = url;
    this.#basePath = url.pathname.replace(/(?<!\/)\/+$/, "");
    this.#host = url.hostname.replace(/^\[|\]$/g, "");
    this.#port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
    this.#request = url.protocol === "https:" ? https.request : http.request;
    this.#Agent = url.protocol === "https:" ? https.Agent : http.Agent;
    const kept = { keepAlive: true, maxFreeSockets: IDLE.connections };
    this.#agent = new this.#Agent({ ...kept, timeout: IDLE.ms });
    this.#recent = new this.#Agent({ ...kept, timeout: IDLE.recentMs });
    this.connectEvent = url.protocol === "https:" ? "secureConnect" : "connect";
  }

  /**
   * Begins a request. With a raw list of headers, Node sends them as they are; it adds only Connection.
   * @throws TypeError for a header that cannot be sent
   */
  begin({ method, path, headers, connection }: BegunRequest): ClientRequest {
    const options = {
      ...{
        method,
        path: this.#basePath + path,
        headers,
        maxHeaderSize: HEAD_BYTES,
        hostname: this.#host,
        port: this.#port,
      },
      ...(connection === "new"
        ? { agent: false, allowHalfOpen: true }
        : { agent: connection === "any" ? this.#agent : this.#recent }),
    };
    const request = this.#request(options);
    // Node would drop what is above two thousand.
    request.maxHeadersCount = 0;
    return request;
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
    const secure = this.connectEvent === "secureConnect";
    const host = this.#host;
    const to = { host, port: this.#port, signal };
    const name = isIP(host) === 0 ? { servername: host } : {};
    const socket = secure ? tls.connect({ ...to, ...name, ALPNProtocols: ["http/1.1"] }) : net.connect(to);
    // Once connected, the code that uses it handles its errors; until then an error must not end the process.
    socket.on("error", () => undefined);
    try {
      await once(socket, this.connectEvent);
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
        socket.once(this.connectEvent, () => {
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
