import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { eventually } from "../../shared/eventually.ts";

/** An event as a receiver got it. */
interface ReceivedEvent {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests reach into documents whose shape is what they test
  readonly json: any;
}

/** Answers the n-th request (from 0); with a number, by that status and no body. */
export type Answering = (n: number, res: ServerResponse, req: IncomingMessage) => number | undefined;

/** An HTTP server of 127.0.0.1 that remembers what it got. */
export interface Receiver {
  readonly url: string;
  readonly port: number;
  readonly received: readonly ReceivedEvent[];
  /** Resolves with everything received once there are so many. */
  count(n: number): Promise<readonly ReceivedEvent[]>;
  /** Changes how it answers from now on. */
  answers(how: Answering): void;
  close(): Promise<void>;
}

/** Starts a receiver; without an argument it answers 204. Any address of 127.0.0.0/8 is a host of its own. */
export async function startReceiver(first: Answering = () => 204, host = "127.0.0.1"): Promise<Receiver> {
  let how = first;
  const received: ReceivedEvent[] = [];
  const server = createServer((req, res) => {
    void (async () => {
      const body = Buffer.concat(await req.toArray()).toString("utf8");
      const { method = "", url = "", headers } = req;
      const n = received.push({ method, path: url, headers, body, json: body === "" ? null : JSON.parse(body) }) - 1;
      const status = how(n, res, req);
      if (status !== undefined) res.writeHead(status).end();
    })();
  });
  server.listen(0, host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host}:${port}/hook`,
    port,
    received,
    count: async (n) => {
      await eventually(() => received.length >= n);
      return received;
    },
    answers: (next) => {
      how = next;
    },
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
