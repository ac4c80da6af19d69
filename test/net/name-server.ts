import { createSocket } from "node:dgram";
import { once } from "node:events";

/** A name server on 127.0.0.1 for tests (RFC 1035 §4). */
export interface NameServer {
  /** In the form that a resolver accepts. */
  readonly address: string;
  /** The names that were queried. */
  readonly asked: readonly string[];
  close(): Promise<void>;
}

const TYPES: Readonly<Record<number, 4 | 6>> = { 1: 4, 28: 6 };

/**
 * Starts a server that answers each name with its IPv4 address or response code (2 SERVFAIL, 3 NXDOMAIN), and does not
 * answer queries for other names.
 */
export async function startNameServer(names: Readonly<Record<string, string | number>>): Promise<NameServer> {
  const socket = createSocket("udp4");
  const asked: string[] = [];
  socket.on("message", (query, { port, address }) => {
    const labels: string[] = [];
    let at = 12;
    for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
      labels.push(query.toString("latin1", at + 1, at + 1 + length));
      at += 1 + length;
    }
    const name = labels.join(".").toLowerCase();
    asked.push(name);
    const known = names[name];
    if (known === undefined) return;
    const end = at + 5;
    const has = typeof known === "string" && TYPES[query.readUInt16BE(at + 1)] === 4;
    const head = Buffer.alloc(12);
    query.copy(head, 0, 0, 2);
    head.writeUInt16BE(0x8180 | (typeof known === "number" ? known : 0), 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(has ? 1 : 0, 6);
    const answer = has ? [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, ...String(known).split(".").map(Number)] : [];
    socket.send(Buffer.concat([head, query.subarray(12, end), Buffer.from(answer)]), port, address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}
