import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";

/** Who has made or changed an answer. */
const VIA = "1.1 test";

/** What a proxy does with one request. */
type Treatment =
  /** Forwards it, and its answer as it comes. */
  | "pass"
  /** Forwards it, and loses the answer: the client's connection is reset. */
  | "lose"
  /** Forwards it, and lets a part of the answer's body through before it resets the connection. */
  | "break"
  /** Never answers. */
  | "hang"
  /** Forwards it, and never answers. */
  | "mute"
  /** Resets the client's connection at once. */
  | "reset"
  /** Forwards it, and its answer without headers that begin with `X-`, but with a `Via`. */
  | "strip"
  /** Forwards it only then. */
  | { readonly lateAfter: Promise<void> }
  /** Keeps the answer until it is complete, and resets the connection when that takes too long. */
  | { readonly keepMs: number }
  /** Answers itself, with a `Via`. */
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string };

/** A request as the proxy saw it. */
interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly atMs: number;
  /** Tells the client's connections apart. */
  readonly port: number | undefined;
}

/** An HTTP proxy between a client and a server, with the faults of real ones. */
export interface HttpProxy {
  readonly url: string;
  readonly seen: readonly SeenRequest[];
  /** Those that have not been answered, or whose answer has not ended. */
  readonly open: readonly SeenRequest[];
  /** Decides what is done with each request; by default each is forwarded. */
  treat(how: (request: SeenRequest) => Treatment): void;
  /** Resets the connections of open requests for URLs with this in them. */
  cut(part: string): void;
  stop(): Promise<void>;
}

/** Starts a proxy before a server. */
export async function startHttpProxy(target: string): Promise<HttpProxy> {
  const seen: SeenRequest[] = [];
  const open = new Map<http.ServerResponse, SeenRequest>();
  let decide: (request: SeenRequest) => Treatment = () => "pass";
  const server = http.createServer((req, res) => {
    const request = {
      ...{ method: req.method ?? "", url: req.url ?? "", headers: req.headers },
      ...{ atMs: performance.now(), port: req.socket.remotePort },
    };
    seen.push(request);
    open.set(res, request);
    res.on("close", () => open.delete(res));
    const how = decide(request);
    if (how === "hang") return;
    if (how === "reset") return void res.destroy();
    if (typeof how === "object" && "status" in how) {
      req.resume();
      res.writeHead(how.status, { Via: VIA, ...how.headers }).end(how.body);
      return;
    }
    if (typeof how === "object" && "lateAfter" in how) {
      // A request that has arrived is forwarded even if the client has gone.
      const body: Buffer[] = [];
      req.on("data", (part: Buffer) => body.push(part));
      void Promise.all([how.lateAfter, once(req, "end")]).then(() => {
        const late = http.request(new URL(req.url ?? "", target), { method: req.method, headers: req.headers });
        late.on("response", (answer) => answer.pipe(res.writeHead(answer.statusCode ?? 502, answer.headers)));
        late.on("error", () => res.destroy());
        late.end(Buffer.concat(body));
      });
      return;
    }
    const upstream = http.request(new URL(req.url ?? "", target), { method: req.method, headers: req.headers });
    upstream.on("error", () => res.destroy());
    res.on("close", () => upstream.destroy());
    req.pipe(upstream);
    upstream.on("response", (answer) => {
      const headers = Object.entries(answer.headers).filter(([name]) => how !== "strip" || !name.startsWith("x-"));
      if (how === "strip") headers.push(["via", VIA]);
      const head = () => res.writeHead(answer.statusCode ?? 502, Object.fromEntries(headers));
      answer.on("error", () => res.destroy());
      if (how === "lose") return answer.resume().on("end", () => res.destroy());
      if (how === "mute") return answer.resume();
      if (how === "pass" || how === "strip") return answer.pipe(head());
      if (how === "break") {
        answer.once("data", (part: Buffer) => {
          head().write(part.subarray(0, Math.ceil(part.length / 2)), () => res.destroy());
        });
        return;
      }
      const kept: Buffer[] = [];
      answer.on("data", (part: Buffer) => kept.push(part));
      answer.on("end", () => head().end(Buffer.concat(kept)));
      return;
    });
    if (typeof how === "object" && "keepMs" in how) {
      const timer = setTimeout(() => res.destroy(), how.keepMs);
      res.on("close", () => clearTimeout(timer));
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    get open() {
      return [...open.values()];
    },
    treat(how) {
      decide = how;
    },
    cut(part) {
      for (const [res, { url }] of open) if (url.includes(part)) res.destroy();
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
