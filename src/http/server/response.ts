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

const PIPELINE = Symbol("pipeline");

/**
 * So many requests of a connection are handled at once. A client may send hundreds in one piece without reading an answer, and what is
 * answered is kept until it can be sent.
 */
const HANDLED_AT_ONCE = 8;

/** The requests of a client that does not wait for answers. */
interface Pipeline {
  /** How many are handled, or answered and not sent yet. */
  handled: number;
  /** Handle the others, in their order. If the connection ends before, they go with it. */
  readonly waiting: (() => void)[];
}

/** A connection, with the response to its last request until it is sent: kept longer, it would survive minor collections. */
type AnsweredSocket = Duplex & { [LATEST]?: HttpResponse | undefined; [PIPELINE]?: Pipeline | undefined };

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

  /** Makes it the latest response of a connection. Returns where its request has to wait; undefined if it may be handled now. */
  follow(socket: AnsweredSocket): Pipeline["waiting"] | undefined {
    const isAlone = socket[LATEST] === undefined;
    socket[LATEST] = this;
    if (isAlone) return undefined;
    socket[PIPELINE] ??= { handled: 1, waiting: [] };
    const pipeline = socket[PIPELINE];
    if (pipeline.handled >= HANDLED_AT_ONCE) return pipeline.waiting;
    pipeline.handled += 1;
    return undefined;
  }

  /** Called by Node when it is sent. */
  override detachSocket(socket: Socket & AnsweredSocket): void {
    const pipeline = socket[PIPELINE];
    if (socket[LATEST] === this) socket[LATEST] = socket[PIPELINE] = undefined;
    else if (pipeline) {
      const next = pipeline.waiting.shift();
      if (next) process.nextTick(next);
      else pipeline.handled -= 1;
    }
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
