import { once } from "node:events";
import http, { type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Answers one path. */
export type Answer = (response: ServerResponse, request: IncomingMessage) => void;

/** A web server of the test's own, on a port of 127.0.0.1 that was free. */
export class PageServer {
  readonly #server: http.Server;
  /** Paths in the order they were asked for. */
  readonly asked: string[] = [];
  readonly #answers = new Map<string, Answer>();

  private constructor() {
    const listener: RequestListener = (request, response) => {
      const path = request.url ?? "/";
      this.asked.push(path);
      const answer = this.#answers.get(path);
      if (answer) answer(response, request);
      else response.writeHead(404).end();
    };
    this.#server = http.createServer(listener);
  }

  static async start(): Promise<PageServer> {
    const pages = new PageServer();
    pages.#server.listen(0, "127.0.0.1");
    await once(pages.#server, "listening");
    return pages;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Serves an answer, or a body with headers, at a path; returns the path's URL. */
  at(path: string, answer: Answer | string | Uint8Array, headers: http.OutgoingHttpHeaders = {}): string {
    const given: Answer =
      typeof answer === "function"
        ? answer
        : (response) => response.writeHead(200, { "content-type": "text/html", ...headers }).end(answer);
    this.#answers.set(path, given);
    return this.url(path);
  }

  /** The URL of a path, by the address or by a name for it. */
  url(path: string, host = "127.0.0.1"): string {
    return `http://${host}:${this.port}${path}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}
