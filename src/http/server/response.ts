import {
  type IncomingMessage,
  type OutgoingHttpHeader,
  type OutgoingHttpHeaders,
  ServerResponse,
  validateHeaderValue,
} from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Context } from "koa";

const LATEST = Symbol("latest");

/** A connection, with the response to its last request until it is sent: kept longer, it would survive minor collections. */
type AnsweredSocket = Duplex & { [LATEST]?: HttpResponse | undefined };

/** The response to the last request of a connection; undefined if it has been sent. */
export function latestOn(socket: Duplex): HttpResponse | undefined {
  return (socket as AnsweredSocket)[LATEST];
}

/** Characters that may not be in the value of a header: the same as in Node (RFC 9110 §5.5). */
const INVALID = /[^\t\x20-\x7e\x80-\xff]/;

/**
 * A response whose added headers are sent however its head is written: by Koa, by a stream, or at once by {@link answer}. Node
 * keeps headers that are set one by one in a table and turns it into text at the end; a list that is written at once costs a
 * third of that, and these are the headers of every answer.
 */
export class HttpResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  /** Names and values in turns. Browsers must not guess the type of an answer. */
  #headers: string[] = ["X-Content-Type-Options", "nosniff"];
  #vary = "";
  /** Aborted when the server stops: a head written after that ends the connection. */
  stopping: AbortSignal | undefined;
  /** The text of the head, once Node has made it. */
  declare protected _header: string | null;

  /** Makes it the latest response of a connection. */
  follow(socket: AnsweredSocket): void {
    socket[LATEST] = this;
  }

  override detachSocket(socket: Socket): void {
    if (latestOn(socket) === this) (socket as AnsweredSocket)[LATEST] = undefined;
    super.detachSocket(socket);
  }

  /** Adds a header to the answer, whatever it will be; the value must be valid in a header. */
  addHeader(name: string, value: string): void {
    this.#headers.push(name, value);
  }

  /** Adds a request header to Vary. */
  varyBy(name: string): void {
    this.#vary = this.#vary === "" ? name : `${this.#vary}, ${name}`;
  }

  /**
   * Sends the whole answer at once, the fastest way Node has. Node writes the headers that depend on the connection; ours are added
   * to its text, since it looks at each header for what it may mean, which takes longer than to write them.
   * @param body each character is a byte: ASCII, or bytes read as Latin-1
   */
  answer(status: number, body: string): void {
    this.#closeWhenStopping();
    const lines = linesOf(this.#takeHeaders());
    super.writeHead(status, ["Content-Length", String(body.length)]);
    const head = this._header ?? "";
    this._header = `${head.slice(0, -2)}${lines}\r\n`;
    this.#endWith(body);
  }

  /**
   * Hands head and body to the socket in one piece. `end(body)` hands it an empty one as well, and the system call that writes
   * several pieces takes longer.
   */
  #endWith(body: string): void {
    const { socket } = this;
    // None while an earlier answer of the connection is being sent.
    if (!socket || socket.writableCorked > 0) {
      this.end(body, "latin1");
      return;
    }
    socket.cork();
    this.write(body, "latin1");
    socket.uncork();
    this.end();
  }

  override writeHead(
    status: number,
    reason?: string | OutgoingHttpHeaders | OutgoingHttpHeader[],
    headers?: OutgoingHttpHeaders | OutgoingHttpHeader[],
  ): this {
    this.#closeWhenStopping();
    const own = this.#takeHeaders();
    for (let i = 0; i < own.length; i += 2) this.setHeader(own[i] ?? "", own[i + 1] ?? "");
    return typeof reason === "string" ? super.writeHead(status, reason, headers) : super.writeHead(status, reason);
  }

  /** Node then writes `Connection: close` by itself. */
  #closeWhenStopping(): void {
    if (this.stopping?.aborted) this.shouldKeepAlive = false;
  }

  #takeHeaders(): string[] {
    const headers = this.#headers;
    if (this.#vary !== "") headers.push("Vary", this.#vary);
    this.#headers = [];
    this.#vary = "";
    return headers;
  }
}

/** The response of a request to our own server. */
export function responseOf(ctx: Pick<Context, "res">): HttpResponse {
  return ctx.res as HttpResponse;
}

/** Headers as they are sent. @throws TypeError for a value that is invalid in a header */
function linesOf(headers: readonly string[]): string {
  let lines = "";
  for (let i = 0; i < headers.length; i += 2) {
    const [name = "", value = ""] = [headers[i], headers[i + 1]];
    if (INVALID.test(value)) validateHeaderValue(name, value);
    lines += `${name}: ${value}\r\n`;
  }
  return lines;
}
