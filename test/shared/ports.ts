import { randomInt } from "node:crypto";
import { once } from "node:events";
import net from "node:net";

/**
 * Ports that no system assigns to a process that asks for any free port: Linux assigns those from 32,768 on, others higher ones. They
 * come in pairs: whoever listens on the odd one also owns the even one. So a server can leave its port and return to it, and another
 * process finds a port that refuses connections.
 */
const RANGE = { first: 20_000, pairs: 5_000 } as const;

/** Reserves a port of 127.0.0.1 until this process ends, for whatever listens there, here or in other processes. */
export async function reservePort(): Promise<number> {
  const start = randomInt(RANGE.pairs);
  for (let n = 0; n < RANGE.pairs; n += 1) {
    const port = RANGE.first + 2 * ((start + n) % RANGE.pairs);
    const keeper = await listen(port + 1);
    if (keeper === undefined) continue;
    // Something else may listen there, such as a server whose test was killed.
    const probe = await listen(port);
    if (probe !== undefined) {
      await close(probe);
      // Listens on, but does not keep the process from ending.
      keeper.unref();
      return port;
    }
    await close(keeper);
  }
  throw new Error("all ports for tests are taken");
}

/** Undefined if the port is taken. */
async function listen(port: number): Promise<net.Server | undefined> {
  const server = net.createServer((socket) => socket.destroy());
  try {
    await once(server.listen(port, "127.0.0.1"), "listening");
    return server;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    return undefined;
  }
}

async function close(server: net.Server): Promise<void> {
  server.close();
  await once(server, "close");
}
