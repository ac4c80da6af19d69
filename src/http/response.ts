import { type IncomingMessage, type OutgoingHttpHeader, type OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { Context } from "koa";

/**
 * A response whose added headers are sent however its head is written: by Koa, by a stream, or at once by {@link answer}. Node
 * keeps headers that are set one by one in a table and turns it into text at the end; a list that is written at once costs a
 * third of that, and these are the headers of every answer.
 */
export class HttpResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  /** Names and values in turns. Browsers must not guess the type of an answer. */
  readonly #headers: string[] = ["X-Content-Type-Options", "nosniff"];
  readonly #varies: string[] = [];
  /** Aborted when the server stops: a head written after that ends the connection. */
  stopping: AbortSignal | undefined;

  /** Adds a header to the answer, whatever it will be; the value must be valid in a header. */
  addHeader(name: string, value: string): void {
    this.#headers.push(name, value);
  }

  /** Adds a request header to Vary. */
  varyBy(name: string): void {
    this.#varies.push(name);
  }

  /**
   * Sends the whole answer at once, the fastest way Node has.
   * @param fields names and values in turns
   * @param body ASCII only, so that its length in characters is that in bytes
   */
  answer(status: number, fields: readonly string[], body: string): void {
    this.#closeWhenStopping();
    super.writeHead(status, [...this.#takeHeaders(), ...fields, "Content-Length", String(body.length)]);
    this.end(body, "latin1");
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
    if (this.#varies.length > 0) this.#headers.push("Vary", this.#varies.splice(0).join(", "));
    return this.#headers.splice(0);
  }
}

/** The response of a request to our own server. */
export function responseOf(ctx: Pick<Context, "res">): HttpResponse {
  return ctx.res as HttpResponse;
}
