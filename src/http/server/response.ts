import type { ServerResponse } from "node:http";
import type { Context, Middleware } from "koa";

/**
 * The headers of an answer, whether Koa, the endpoint itself or {@link HttpResponse.answer} sends it. They are kept as a list,
 * since Node is slower with headers set one by one.
 */
class HttpResponse {
  /** Names and values in turns. Browsers must not guess the type of an answer. */
  readonly #headers: string[] = ["X-Content-Type-Options", "nosniff"];
  readonly #stopping: AbortSignal;
  #vary = "";
  /** What caches may do with the answer; null leaves it open. */
  cacheControl: string | null = "no-store";

  /** @param stopping aborted when the server stops: an answer after that ends its connection, or a busy one could delay the stop forever */
  constructor(stopping: AbortSignal) {
    this.#stopping = stopping;
  }

  /** Adds a header to the answer, whoever sends it. */
  addHeader(name: string, value: string): void {
    this.#headers.push(name, value);
  }

  /** Adds a request header to Vary. */
  varyBy(name: string): void {
    this.#vary = this.#vary === "" ? name : `${this.#vary}, ${name}`;
  }

  /**
   * Sends the whole answer at once.
   * @param body each character is a byte: ASCII, or bytes read as Latin-1
   */
  answer(ctx: Context, status: number, body: string): void {
    ctx.respond = false;
    this.addHeader("Content-Length", String(body.length));
    ctx.res.writeHead(status, this.#list()).end(body, "latin1");
  }

  /** Leaves the answer to the calling code, which writes head and body. */
  handOver(ctx: Context): ServerResponse {
    ctx.respond = false;
    this.set(ctx);
    return ctx.res;
  }

  /** Sets the headers on the answer that Koa, or the code it was handed to, will send. */
  set(ctx: Context): void {
    const list = this.#list();
    // Only Link may occur twice.
    for (let i = 0; i < list.length; i += 2) {
      const [name = "", value = ""] = [list[i], list[i + 1]];
      if (name === "Link") ctx.append(name, value);
      else ctx.set(name, value);
    }
  }

  #list(): string[] {
    if (this.#vary !== "") this.addHeader("Vary", this.#vary);
    if (this.cacheControl !== null) this.addHeader("Cache-Control", this.cacheControl);
    if (this.#stopping.aborted) this.addHeader("Connection", "close");
    return this.#headers;
  }
}

/** Gives every request its response object, and sets the headers on what Koa sends. */
export function respond(stopping: AbortSignal): Middleware {
  return (ctx, next) => {
    const response = new HttpResponse(stopping);
    ctx.state.response = response;
    return next().then(() => {
      if (ctx.respond !== false) response.set(ctx);
    });
  };
}

/** The response of a request. */
export function responseOf(ctx: Pick<Context, "state">): HttpResponse {
  return ctx.state.response as HttpResponse;
}
