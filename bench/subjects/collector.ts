/** A collector that accepts everything and reads nothing. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const server = createServer((req, res) => {
  req.resume().once("end", () => res.writeHead(200, { "Content-Type": "application/json" }).end("{}"));
});
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
