import { once } from "node:events";
import net from "node:net";

/** A server that speaks just enough of the Redis protocol for the checks at start. */
export interface FakeRedis {
  readonly port: number;
  stop(): Promise<void>;
}

/** Starts a server that answers INFO with these fields, PING with PONG, and anything else as an unknown command. */
export async function startFakeRedis(info: Record<string, string>, port = 0): Promise<FakeRedis> {
  const text = Object.entries(info)
    .map(([name, value]) => `${name}:${value}\r\n`)
    .join("");
  return startTcp((words) => {
    if (words.includes("info")) return `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
    if (words.includes("ping")) return "+PONG\r\n";
    return `-ERR unknown command \`${words[0]?.toUpperCase()}\`, with args beginning with: \r\n`;
  }, port);
}

/** Starts a server that answers each command with what `answer` returns for its words. */
export function startTcp(answer: (words: string[]) => string, port = 0): Promise<FakeRedis> {
  return serve((text) => {
    // Several commands may arrive at once: each begins with *, and each word is on its own line after its length.
    const commands = text.split(/(?:^|\r\n)\*\d+\r\n/).slice(1);
    return commands
      .map((command) => answer(command.split("\r\n").filter((line) => !line.startsWith("$") && line !== "")))
      .join("");
  }, port);
}

/** Starts a server that sends the same reply to everything. */
export function startPlain(reply: string): Promise<FakeRedis> {
  return serve(() => reply, 0);
}

async function serve(reply: (text: string) => string, wanted: number): Promise<FakeRedis> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("data", (data) => socket.write(reply(data.toString())));
  });
  server.listen(wanted, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as net.AddressInfo;
  return {
    port,
    async stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
