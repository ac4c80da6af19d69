import { once } from "node:events";
import http, { type IncomingMessage, type ServerResponse } from "node:http";
import net, { type AddressInfo, type Socket } from "node:net";
import { type Passage, type Relayed, relay } from "../../../../src/extras/gateway/door/relay.ts";
import { ReadAhead } from "../../../../src/extras/gateway/door/relay-body.ts";
import { DoorRequest, DoorResponse, malformed, responseTo } from "../../../../src/extras/gateway/door/relay-request.ts";
import { requestFields } from "../../../../src/extras/gateway/headers.ts";
import { Upstream } from "../../../../src/extras/gateway/upstream.ts";

/** A server that relays each request at once, without a line. */
export interface Relay {
  readonly port: number;
  /** How each request has ended, in the order of their ends. */
  readonly outcomes: readonly Relayed[];
  /** Resolves when so many requests have ended, with the last of them. */
  ended(count?: number): Promise<Relayed | undefined>;
  /** Aborts what is being relayed. */
  abort(): void;
  connections(): Promise<number>;
  close(): Promise<void>;
}

type Options = Partial<Pick<Passage, "timeoutMs" | "own" | "begun">> & {
  /** Called before a request is relayed. */
  readonly before?: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
};

export async function startRelay(target: string, options: Options = {}): Promise<Relay> {
  const upstream = new Upstream(new URL(target));
  const outcomes: Relayed[] = [];
  const waiting = new Set<() => void>();
  let stop = new AbortController();
  const pass = async (request: IncomingMessage, response: ServerResponse, upgrade?: Socket) => {
    const flaw = malformed(request);
    if (flaw !== undefined) {
      response.writeHead(400, { Connection: "close" }).end(flaw);
      return;
    }
    // As a middleware would.
    response.setHeader("X-Set", "before");
    response.removeHeader("X-Set");
    const body = new ReadAhead(upgrade ?? request);
    await options.before?.(request, response);
    const how = await relay(upstream, {
      ...{ request, response, body, path: request.url ?? "", own: options.own ?? [], signal: stop.signal },
      headers: requestFields(request, {
        ...{
          host: upstream.target.host,
          from: { address: "192.0.2.1", proto: "http" },
          drop: new Set<string>(),
          add: [],
        },
      }),
      timeoutMs: options.timeoutMs ?? null,
      ...(options.begun && { begun: options.begun }),
      ...(upgrade && { upgrade }),
    });
    outcomes.push(how);
    for (const look of [...waiting]) look();
    if (how.how === "refused" || how.how === "unanswered") response.writeHead(502).end(how.reason);
  };
  const server = http.createServer({
    IncomingMessage: DoorRequest,
    ServerResponse: DoorResponse,
    requestTimeout: 0,
    requireHostHeader: false,
  });
  const onRequest = (request: IncomingMessage, response: ServerResponse) => void pass(request, response);
  server.on("request", onRequest).on("checkContinue", onRequest);
  server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
    if (head.length > 0) socket.unshift(head);
    void pass(request, responseTo(request, socket), socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    outcomes,
    ended: (count = 1) =>
      new Promise((resolve) => {
        const look = () => {
          if (outcomes.length < count) return;
          waiting.delete(look);
          resolve(outcomes[count - 1]);
        };
        waiting.add(look);
        look();
      }),
    abort() {
      stop.abort();
      stop = new AbortController();
    },
    connections: () => new Promise((resolve) => server.getConnections((_, count) => resolve(count))),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** An API of which each connection is handled by hand. */
export interface RawApi {
  readonly url: string;
  readonly sockets: readonly Socket[];
  close(): Promise<void>;
}

export async function startApi(handle: (socket: Socket, n: number) => void): Promise<RawApi> {
  const sockets: Socket[] = [];
  const server = net.createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sockets.push(socket.on("error", () => undefined));
    handle(socket, sockets.length - 1);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sockets,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

/** A connection whose bytes are read as text, latin1. */
export class Wire {
  readonly socket: Socket;
  text = "";
  /** How the connection ended: an error's code, or "closed". */
  readonly closed: Promise<string>;

  constructor(target: Socket | number) {
    this.socket =
      typeof target === "number" ? net.connect({ port: target, host: "127.0.0.1", allowHalfOpen: true }) : target;
    let how = "closed";
    this.socket.on("error", (error: NodeJS.ErrnoException) => {
      how = error.code ?? error.message;
    });
    this.closed = new Promise((resolve) => this.socket.once("close", () => resolve(how)));
    this.socket.on("data", (data: Buffer) => {
      this.text += data.toString("latin1");
    });
  }

  write(text: string): this {
    this.socket.write(text, "latin1");
    return this;
  }

  /** Resolves with all text so far once it contains the given one. */
  async until(part: string): Promise<string> {
    while (!this.text.includes(part)) {
      if (this.socket.closed) throw new Error(`closed before ${JSON.stringify(part)}: ${JSON.stringify(this.text)}`);
      await Promise.race([once(this.socket, "data"), this.closed]);
    }
    return this.text;
  }
}

/** An API that is handled by hand, a relay to it, and a caller. */
export async function openScene(handle: (api: Wire, n: number) => void, options: Options = {}) {
  const api = await startApi((socket, n) => handle(new Wire(socket), n));
  const relay = await startRelay(api.url, options);
  const caller = new Wire(relay.port);
  const close = async () => {
    caller.socket.destroy();
    await relay.close();
    await api.close();
  };
  return { api, relay, caller, close };
}
