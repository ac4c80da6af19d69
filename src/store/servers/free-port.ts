import { once } from "node:events";
import net from "node:net";

/** A loopback port that is free now. Another process may take it before it is used: whoever uses it tries again then. */
export async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("the system gave no port");
  return address.port;
}
