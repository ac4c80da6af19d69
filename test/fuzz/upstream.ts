import { once } from "node:events";
import http, { type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";

/** What an API behind a gateway may do to it; the path of a request names one. */
const WAYS: Readonly<Record<string, (req: IncomingMessage, res: ServerResponse) => void>> = {
  plain: (req, res) => res.writeHead(200, { "Content-Type": "text/plain" }).end(`${req.method} ${req.url}`),
  nothing: (_, res) => res.writeHead(204).end(),
  odd: (_, res) =>
    res.writeHead(299, { "Content-Type": "text/html; charset=nonsense", Refresh: "0;url=//x" }).end("<b>"),
  wrong: (_, res) => res.writeHead(500).end("no"),
  "put-off": (_, res) => res.writeHead(503, { "Retry-After": "7" }).end(),
  redirect: (_, res) => res.writeHead(302, { Location: "//127.0.0.1:1/" }).end(),
  bomb: (_, res) => res.writeHead(200, { "Content-Encoding": "gzip" }).end(BOMB),
  fields: (_, res) => {
    for (let i = 0; i < 300; i += 1) res.appendHeader(`Field-${i}`, "v".repeat(20));
    res.end("many");
  },
  cut: (_, res) => {
    res.writeHead(200, { "Content-Length": "1000" }).write("begun");
    setImmediate(() => res.destroy());
  },
  gone: (_, res) => res.destroy(),
  "not-http": (_, res) => res.socket?.end("SSH-2.0-OpenSSH\r\n"),
  smuggled: (_, res) => res.socket?.end("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
  chunks: (_, res) => res.socket?.end("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
  "out-of-range": (_, res) => res.socket?.end("HTTP/1.1 999 Hm\r\nContent-Length: 0\r\n\r\n"),
};

/** What its path may be. */
export const UPSTREAM_WAYS = Object.keys(WAYS);

/** 64 MB, sent as 64 kB. */
const BOMB = gzipSync(Buffer.alloc(64 * 1024 * 1024));

/** An API that answers as badly as it is asked to. */
export interface Upstream {
  readonly port: number;
  stop(): void;
}

/** Starts it on a free port. */
export async function startUpstream(): Promise<Upstream> {
  const server = http.createServer((req, res) => {
    const name = /^\/([a-z-]+)/.exec(req.url ?? "")?.[1] ?? "plain";
    req.resume();
    (WAYS[name] ?? WAYS.plain)?.(req, res);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
