import { once } from "node:events";
import http, { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { expect } from "chai";
import { defineGateway, type GatewayOptions } from "../../../../src/extras/gateway/gateway.ts";
import type { Handler } from "../../../../src/handler/define.ts";
import { type Answer, exchange, type Sent, startServer, type TestServer } from "../../../helpers/http/server.ts";
import { eventually } from "../../../shared/eventually.ts";

/** How long a test waits for what should come soon, ms. */
const WAIT_MS = 10_000;

/** A request that the API behind a door was asked. */
export interface Asked {
  readonly line: string;
  readonly headers: IncomingHttpHeaders;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Whether its answer was sent whole, or its connection was closed before. */
  readonly end: Promise<"finished" | "aborted">;
}

/** The API behind a door: it counts what it is asked. What is below `/hold` is answered by the test, anything else with `ok`. */
export class Api {
  readonly port: number;
  readonly #server: http.Server;
  readonly asked: Asked[] = [];
  #taken = 0;

  private constructor(server: http.Server) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    server.on("request", (request, response) => this.#ask(request, response));
  }

  static async start(port = 0): Promise<Api> {
    const server = http.createServer({ requestTimeout: 0 }).listen(port, "127.0.0.1");
    await once(server, "listening");
    return new Api(server);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  #ask(request: IncomingMessage, response: ServerResponse): void {
    const end = new Promise<"finished" | "aborted">((resolve) => {
      response.on("finish", () => resolve("finished")).on("close", () => resolve("aborted"));
    });
    const line = `${request.method} ${request.url}`;
    this.asked.push({ line, headers: request.headers, request, response, end });
    if (request.url?.startsWith("/hold")) return;
    request.resume().on("end", () => response.end("ok"));
  }

  /** The next request that it is asked, or has been asked since the last call. */
  next(): Promise<Asked> {
    const at = this.#taken;
    this.#taken += 1;
    return this.#first(() => this.asked[at]);
  }

  /** The first request with this method and path. */
  came(line: string): Promise<Asked> {
    return this.#first(() => this.asked.find((asked) => asked.line === line));
  }

  async #first(look: () => Asked | undefined): Promise<Asked> {
    const seen = () => look() ?? Promise.reject(new Error(`it was asked ${this.asked.map(({ line }) => line).join()}`));
    return await eventually(seen, WAIT_MS);
  }

  /** Answers an upgrade as given. */
  onUpgrade(listener: (request: IncomingMessage, socket: Socket) => void): void {
    this.#server.on("upgrade", listener);
  }

  /** Refuses new connections; those that are open go on. */
  refuse(): void {
    this.#server.close();
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    if (this.#server.listening) await once(this.#server.close(), "close");
  }
}

/** A caller at a door. */
export interface Caller {
  readonly answer: Promise<Answer>;
  /** The headers of the answer, as soon as they have come. */
  readonly head: Promise<IncomingMessage>;
  hangUp(): void;
}

/** A server with a door before an API. */
export interface TestDoor {
  readonly server: TestServer;
  readonly port: number;
  /** Sends a request to the door and reads the answer. */
  send(path: string, sent?: Sent): Promise<Answer>;
  /** Sends a request that may wait. */
  call(path: string, sent?: Sent): Caller;
  /** The requests that are served and that wait, as the server shows them. */
  line(): Promise<{ running: number; waiting: number }>;
  /** Resolves when so many are served and wait. */
  until(running: number, waiting: number): Promise<void>;
  /** Nobody is served any more, and whoever comes next is. */
  expectFree(): Promise<void>;
  stop(options?: { keep?: boolean }): Promise<void>;
}

export const QUEUE = "api";

/** Starts a server with a door before `target`. */
export async function openDoor(
  target: string,
  options: Partial<GatewayOptions> = {},
  env: Readonly<Record<string, string>> = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<TestDoor> {
  const handler = defineGateway({ queue: QUEUE, target, listen: 0, ...options }) as unknown as Handler;
  const server = await startServer(env, { handlers: new Map([[handler.queue, handler]]) });
  const port = Number(new URL(server.doors[0]?.url ?? "").port);
  return { ...doorAt(port, server, headers), server, stop: (stopOptions) => server.stop(stopOptions) };
}

/** The door on a port of a server. @param headers which every request has */
export function doorAt(
  port: number,
  server: Pick<TestServer, "send">,
  headers: Readonly<Record<string, string>> = {},
): Omit<TestDoor, "server" | "stop"> {
  const send = (path: string, sent: Sent = {}) =>
    exchange(new URL(path, `http://127.0.0.1:${port}`), {
      ...sent,
      headers: { ...headers, ...sent.headers },
      contract: false,
    });
  const line = async () => {
    const { json } = await server.send(`/v1/queues/${QUEUE}`, { headers, contract: false });
    return { running: json.running as number, waiting: json.waiting as number };
  };
  const until = async (running: number, waiting: number) => {
    await eventually(async () => expect(await line()).to.deep.equal({ running, waiting }), WAIT_MS);
  };
  return {
    port,
    send,
    call: (path, sent = {}) => call(port, path, { ...sent, headers: { ...headers, ...sent.headers } }),
    line,
    until,
    async expectFree() {
      await until(0, 0);
      expect((await send("/next")).text).to.equal("ok");
      await until(0, 0);
    },
  };
}

function call(port: number, path: string, { method = "GET", headers = {}, body }: Sent): Caller {
  const request = http.request({ host: "127.0.0.1", port, path, method, agent: false });
  for (const [name, value] of Object.entries(headers)) request.setHeader(name, value);
  // What follows an answer's head is seen by whoever reads it.
  request.on("error", () => undefined).end(body);
  const head = once(request, "response").then(([response]) => response as IncomingMessage);
  const answer = head.then(async (response): Promise<Answer> => {
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    const bytes = Buffer.concat(chunks);
    const text = bytes.toString("utf8");
    const { statusCode = 0, headers: fields } = response;
    return {
      ...{ status: statusCode, headers: fields, body: bytes, text },
      get json() {
        return JSON.parse(text);
      },
    };
  });
  // A caller who hangs up hears of nothing.
  answer.catch(() => undefined);
  return { answer, head, hangUp: () => request.destroy() };
}
