import { type IncomingMessage, type OutgoingHttpHeader, type OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { Context } from "koa";

/**
 * A response with headers that go out however its head is written: by Koa, by a stream, or whole by {@link answer}. Node keeps
 * headers that are set one by one in a table and makes text of it in the end; a list that is written at once costs a third of
 * that, and these are the headers of every answer.
 */
export class ApiResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  /** Names and values in turns. */
  #ahead: string[] = [];

  /** Adds a header to whatever will be answered; its value must be fit for one. */
  ahead(name: string, value: string): void {
    this.#ahead.push(name, value);
  }

  /**
   * Answers all at once, by the shortest way that Node has.
   * @param fields names and values in turns
   * @param body ASCII only: as such its characters are its bytes
   */
  answer(status: number, fields: readonly string[], body: string): void {
    const head = this.#ahead;
    this.#ahead = [];
    head.push(...fields, "Content-Length", String(body.length));
    super.writeHead(status, head);
    this.end(body, "latin1");
  }

  override writeHead(
    status: number,
    reason?: string | OutgoingHttpHeaders | OutgoingHttpHeader[],
    headers?: OutgoingHttpHeaders | OutgoingHttpHeader[],
  ): this {
    for (let i = 0; i < this.#ahead.length; i += 2) {
      const [name = "", value = ""] = this.#ahead.slice(i, i + 2);
      const set = name === "Vary" ? this.getHeader(name) : undefined;
      this.setHeader(name, set === undefined ? value : `${value}, ${String(set)}`);
    }
    this.#ahead = [];
    return typeof reason === "string" ? super.writeHead(status, reason, headers) : super.writeHead(status, reason);
  }
}

/** The response of a request that came in through our own server. */
export function responseOf(ctx: Pick<Context, "res">): ApiResponse {
  return ctx.res as ApiResponse;
}
