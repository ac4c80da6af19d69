import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import net, { type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { startServer, type TestServer } from "../../helpers/http/server.ts";

/** A request as it came over the wire, byte for byte. */
export interface RawRequest {
  /** The request line. */
  readonly line: string;
  /** Lines of the header section in their order, names in lower case. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}

/** The value of a field, undefined where there is none; several are joined. */
export function field({ fields }: RawRequest, name: string): string | undefined {
  const values = fields.filter(([n]) => n === name).map(([, value]) => value);
  return values.length > 0 ? values.join(", ") : undefined;
}

/** An API behind a gateway: a socket that records what it is sent, and answers what it is told to. */
export interface RawUpstream {
  readonly port: number;
  readonly requests: readonly RawRequest[];
  /** How the next request to a path, the part behind the target's, is answered; without one: 200 and `ok`. */
  answer(path: string, ...answers: readonly RawAnswer[]): void;
  /** The requests to a path. */
  to(path: string): readonly RawRequest[];
  /** Resolves when so many requests to a path have come. */
  came(path: string, count?: number): Promise<void>;
  close(): Promise<void>;
}

/** Text to write (latin1), or what to do with the connection. */
export type RawAnswer = string | Buffer | ((socket: Socket) => void);

const OK = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok";

export async function startUpstream(port = 0): Promise<RawUpstream> {
  const requests: RawRequest[] = [];
  const scripted = new Map<string, RawAnswer[]>();
  const listeners = new Set<() => void>();
  const sockets = new Set<Socket>();
  const pathOf = ({ line }: RawRequest) => line.split(" ")[1] ?? "";
  const to = (at: string) => requests.filter((request) => pathOf(request) === at);
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => undefined);
    let text = "";
    socket.setEncoding("latin1").on("data", (data: string) => {
      text += data;
      for (let next = parse(text); next; next = parse(text)) {
        text = text.slice(next.length);
        requests.push(next.request);
        for (const listener of [...listeners]) listener();
        const answer = scripted.get(pathOf(next.request))?.shift() ?? OK;
        if (typeof answer === "function") answer(socket);
        else if (next.request.line.startsWith("HEAD ")) socket.write(headOf(answer));
        else socket.write(answer, "latin1");
      }
    });
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    to,
    answer: (at, ...answers) => void scripted.set(at, [...(scripted.get(at) ?? []), ...answers]),
    came: (at, count = 1) =>
      new Promise((resolve) => {
        const look = () => {
          if (to(at).length < count) return;
          listeners.delete(look);
          resolve();
        };
        listeners.add(look);
        look();
      }),
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

function headOf(answer: string | Buffer): string {
  const text = answer.toString("latin1");
  return text.slice(0, text.indexOf("\r\n\r\n") + 4);
}

/** The first request of what has come so far, where it is whole. */
function parse(text: string): { request: RawRequest; length: number } | undefined {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const [line = "", ...lines] = text.slice(0, end).split("\r\n");
  const fields = lines.map((one) => {
    const colon = one.indexOf(":");
    return [one.slice(0, colon).toLowerCase(), one.slice(colon + 1).trim()] as const;
  });
  const size = Number(fields.find(([name]) => name === "content-length")?.[1] ?? 0);
  const length = end + 4 + size;
  if (text.length < length) return undefined;
  return { request: { line, fields, body: text.slice(end + 4, length) }, length };
}

/** A server with gateways. */
export interface GatewayServer extends TestServer {
  /** Where its handlers are. */
  readonly handlers: string;
  /** Sends text as it is over a connection of its own; resolves with all that is answered until the server closes it. */
  raw(text: string): Promise<string>;
}

/** Starts a server whose handler file has these declarations; `defineGateway` and `defineHandler` are imported. */
export async function startGateways(
  declarations: string,
  env: Readonly<Record<string, string>> = {},
): Promise<GatewayServer> {
  const handlers = await mkdtemp(path.join(tmpdir(), "paihao-gateway-"));
  await writeFile(
    path.join(handlers, "gateways.ts"),
    `import { defineGateway, defineHandler } from "paihao";\nvoid defineHandler;\n${declarations}`,
  );
  const server = await startServer({ HANDLERS: handlers, ALLOWED_HOSTS: "h,x,shop.example", ...env });
  const stop: TestServer["stop"] = async (options) => {
    await server.stop(options);
    await rm(handlers, { recursive: true });
  };
  return { ...server, handlers, stop, raw: (text) => rawExchange(Number(new URL(server.url).port), text) };
}

/** A server with gateways to an upstream, for the tests of a group; there from its `before` on. */
export interface GatewayScene {
  readonly upstream: RawUpstream;
  readonly server: GatewayServer;
}

/** Gives the tests of a group an upstream and a server that is declared for its port, and stops both after them. */
export function useGateways(
  declare: (port: number) => string,
  env: Readonly<Record<string, string>> = {},
): GatewayScene {
  const scene = {} as { -readonly [Part in keyof GatewayScene]: GatewayScene[Part] };
  before(async () => {
    scene.upstream = await startUpstream();
    scene.server = await startGateways(declare(scene.upstream.port), env);
  });
  after(async () => {
    await scene.server.stop();
    await scene.upstream.close();
  });
  return scene;
}

async function rawExchange(port: number, text: string): Promise<string> {
  const socket = net.connect(port, "127.0.0.1");
  // Not ended: a caller who has gone is not waited for.
  socket.write(text, "latin1");
  let answer = "";
  for await (const chunk of socket.setEncoding("latin1")) answer += chunk;
  return answer;
}
