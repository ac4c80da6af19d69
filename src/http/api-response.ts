import { type IncomingMessage, type OutgoingHttpHeader, type OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { Context } from "koa";

/**
 * A response with headers that go out however its head is written: by Koa, by a stream, or whole by {@link answer}. Node keeps
 * headers that are set one by one in a table and makes text of it in the end; a list that is written at once costs a third of
 * that, and these are the headers of every answer.
 */
export class ApiResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  /** Names and values in turns. A browser is to guess the type of no answer. */
  readonly #ahead: string[] = ["X-Content-Type-Options", "nosniff"];
  readonly #varies: string[] = [];
  /** Says when the head is written that the server stops: then the connection ends with this answer. */
  stopping: AbortSignal | undefined;

  /** Adds a header to whatever will be answered; its value must be fit for one. */
  ahead(name: string, value: string): void {
    this.#ahead.push(name, value);
  }

  /** Says that another value of this request header may have another answer. */
  varyBy(name: string): void {
    this.#varies.push(name);
  }

  /**
   * Answers all at once, by the shortest way that Node has.
   * @param fields names and values in turns
   * @param body ASCII only: as such its characters are its bytes
   */
  answer(status: number, fields: readonly string[], body: string): void {
    this.#parting();
    super.writeHead(status, [...this.#takeAhead(), ...fields, "Content-Length", String(body.length)]);
    this.end(body, "latin1");
  }

  override writeHead(
    status: number,
    reason?: string | OutgoingHttpHeaders | OutgoingHttpHeader[],
    headers?: OutgoingHttpHeaders | OutgoingHttpHeader[],
  ): this {
    this.#parting();
    const ahead = this.#takeAhead();
    for (let i = 0; i < ahead.length; i += 2) this.setHeader(ahead[i] ?? "", ahead[i + 1] ?? "");
    return typeof reason === "string" ? super.writeHead(status, reason, headers) : super.writeHead(status, reason);
  }

  /** Node then writes `Connection: close` by itself. */
  #parting(): void {
    if (this.stopping?.aborted) this.shouldKeepAlive = false;
  }

  #takeAhead(): string[] {
    if (this.#varies.length > 0) this.#ahead.push("Vary", this.#varies.splice(0).join(", "));
    return this.#ahead.splice(0);
  }
}

/** The response of a request that came in through our own server. */
export function responseOf(ctx: Pick<Context, "res">): ApiResponse {
  return ctx.res as ApiResponse;
}
