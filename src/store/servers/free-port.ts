import { once } from "node:events";
import net from "node:net";

/** A loopback port that is free now. Another process may take it before it is used, so the caller must handle that. */
export async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("the system assigned no port");
  return address.port;
}

/** How many free ports are tried, since each may be taken before it is used. */
const PORT_TRIES = 5;

/** A start that failed because another process has the port. */
export class PortTakenError extends Error {
  override readonly name = "PortTakenError";
}

/**
 * Starts something on a free loopback port, and tries another port if that was taken meanwhile.
 * @param start rejects with a PortTakenError if another process has the port
 */
export async function startOnFreePort<T>(start: (port: number) => Promise<T>): Promise<{ child: T; port: number }> {
  for (let tries = 1; ; tries++) {
    const port = await freePort();
    try {
      return { child: await start(port), port };
    } catch (error) {
      if (!(error instanceof PortTakenError) || tries >= PORT_TRIES) throw error;
    }
  }
}
