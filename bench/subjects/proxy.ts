/** The proxy that a door is compared with: http-proxy-3, which keeps its connections to the API. */
import http from "node:http";
import type { AddressInfo } from "node:net";
import { createProxyServer } from "http-proxy-3";

const agent = new http.Agent({ keepAlive: true });
const proxy = createProxyServer({ target: `http://127.0.0.1:${process.argv[2]}`, agent, xfwd: true });
const server = http.createServer((request, response) => proxy.web(request, response));
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
