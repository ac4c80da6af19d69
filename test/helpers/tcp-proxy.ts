import { once } from "node:events";
import net from "node:net";

/** A proxy between clients and a server on this machine, with the faults of a network. */
export interface TcpProxy {
  readonly port: number;
  /** Forwards new connections to another server; open ones are not affected. */
  target(port: number): void;
  /** Open connections forward nothing any more, without being closed; new ones work. What is sent on them is held. */
  freeze(): void;
  /** Delivers late what was held, even if the sender has given up; then ends those connections. */
  thaw(): void;
  /** Ends every open connection at once, as a reset does. */
  cut(): void;
  /** Drops the next bytes from the server and cuts their connection, so that a reply is lost. */
  loseReply(): Promise<void>;
  stop(): Promise<void>;
}

interface Link {
  readonly client: net.Socket;
  readonly server: net.Socket;
  frozen: boolean;
  readonly held: Buffer[];
}

/** Starts a proxy to a port of this machine, or to a socket by its path. */
export async function startTcpProxy(first: number | string): Promise<TcpProxy> {
  const links = new Set<Link>();
  let to = first;
  let onReply: (() => void) | undefined;

  const end = (link: Link) => {
    links.delete(link);
    link.client.destroy();
    link.server.destroy();
  };
  const listener = net.createServer({ noDelay: true }, (client) => {
    const server = net.connect(typeof to === "string" ? { path: to } : { port: to, host: "127.0.0.1", noDelay: true });
    const link: Link = { client, server, frozen: false, held: [] };
    links.add(link);
    client.on("data", (data) => {
      if (link.frozen) link.held.push(data);
      else server.write(data);
    });
    server.on("data", (data) => {
      if (link.frozen) return;
      if (onReply) {
        onReply();
        onReply = undefined;
        end(link);
      } else client.write(data);
    });
    for (const socket of [client, server]) {
      // Errors such as a reset are expected; the close that follows ends the link.
      socket.on("error", () => undefined);
      // On a half-open connection, one side does not learn that the other has gone.
      socket.on("close", () => link.frozen || end(link));
    }
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");

  return {
    port: (listener.address() as net.AddressInfo).port,
    target(other) {
      to = other;
    },
    freeze() {
      for (const link of links) link.frozen = true;
    },
    thaw() {
      for (const link of [...links].filter((one) => one.frozen)) {
        links.delete(link);
        link.server.end(Buffer.concat(link.held));
        link.client.destroy();
      }
    },
    cut() {
      for (const link of [...links]) end(link);
    },
    loseReply() {
      return new Promise((resolve) => {
        onReply = resolve;
      });
    },
    async stop() {
      for (const link of [...links]) end(link);
      listener.close();
      await once(listener, "close");
    },
  };
}
