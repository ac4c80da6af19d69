/** An HTTP API: it answers at once, or below `/stream` with a token at each tick, which tells when it was written. */
import http from "node:http";
import type { AddressInfo } from "node:net";
import { monotonicNs } from "../harness/peers.ts";

const TICK_MS = 10;
const TOKENS = 300;

const server = http.createServer((request, response) => {
  request.resume();
  if (request.url === "/stream") {
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    let left = TOKENS;
    const timer = setInterval(() => {
      response.write(`data: ${monotonicNs()}\n\n`);
      left -= 1;
      if (left > 0) return;
      clearInterval(timer);
      response.end();
    }, TICK_MS);
    return;
  }
  request.on("end", () => response.end('{"text":"hello"}'));
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
