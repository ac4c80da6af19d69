import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { text } from "node:stream/consumers";
import { closedGate, type Gate } from "../helpers/gates.ts";
import { type HttpProxy, startHttpProxy } from "../helpers/http/http-proxy.ts";
import type { TestServer } from "../helpers/http/server.ts";
import { endProcesses, type ServerProcess, startProcess } from "../helpers/server-process.ts";
import { storeUrl, uniquePrefix } from "../helpers/store/run-store.ts";
import { removeKeys } from "../helpers/store/scan.ts";
import { startTcpProxy } from "../helpers/tcp-proxy.ts";
import { eventually } from "../shared/eventually.ts";
import { ROOT } from "../shared/root.ts";

const TURNS = path.join(ROOT, "test/fixtures/handlers/turns");

type Decide = Parameters<HttpProxy["treat"]>[0];

/** What the proxy does with requests of this method whose URL has this part, so many times. */
interface Rule {
  readonly method?: string;
  readonly url?: string;
  readonly how: ReturnType<Decide>;
  times?: number;
}

/** What the tests of another language decide, by requests to this process: `POST /verb` with a JSON object. */
export interface Control {
  /** Where they find the server, its proxies and this. */
  readonly env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** Starts proxies before a server, and what lets other processes decide what they do. */
export async function startControl(server: TestServer): Promise<Control> {
  const proxy = await startHttpProxy(server.url);
  const tcp = await startTcpProxy(Number(new URL(server.url).port));
  const gates = new Map<string, Gate>();
  let since = 0;
  const prefix = uniquePrefix();
  let killable: ServerProcess | undefined;
  const seen = () => proxy.seen.slice(since);
  // biome-ignore lint/suspicious/noExplicitAny: the tests of the other language are checked by running them
  const verbs: Readonly<Record<string, (asked: any) => unknown>> = {
    treat({ rules }: { rules: Rule[] }) {
      since = proxy.seen.length;
      proxy.treat(({ method, url }) => {
        const rule = rules.find(
          (one) => method.includes(one.method ?? "") && url.includes(one.url ?? "") && (one.times ?? 1) > 0,
        );
        if (rule?.times !== undefined) rule.times -= 1;
        return rule?.how ?? "pass";
      });
    },
    seen,
    cut: ({ part }) => proxy.cut(part),
    "open-requests": ({ part }) => proxy.open.filter(({ url }) => url.includes(part)),
    tcp: ({ verb }: { verb: "cut" | "freeze" | "thaw" | "loseReply" }) => void tcp[verb](),
    async get({ path: at }) {
      const { json, text } = await server.send(at);
      return { ...json, text };
    },
    async post({ path: at, body }) {
      const { status } = await server.send(at, { method: "POST", body });
      return status;
    },
    /** Another server, in a process of its own, that can be killed and started again at the same address. */
    async start({ url }) {
      const port = url === undefined ? "0" : new URL(url).port;
      killable = await startProcess({ HANDLERS: TURNS, KEY_PREFIX: prefix, PORT: port });
      return killable.url;
    },
    kill: () => endProcesses(killable ? [killable] : []),
    gate() {
      const gate = closedGate();
      gates.set(gate.name, gate);
      return gate.input;
    },
    entered: async ({ gate }) => (await gates.get(gate)?.entered)?.id,
    open: ({ gate, value }) => gates.get(gate)?.open(value),
    "open-when": ({ gate, header, value }) =>
      void eventually(async () => seen().some(({ headers }) => headers[header] !== undefined)).then(() =>
        gates.get(gate)?.open(value),
      ),
  };
  const listener = http.createServer(async (req, res) => {
    const verb = verbs[(req.url ?? "").slice(1)];
    const answer = await verb?.(JSON.parse(await text(req)));
    res.end(JSON.stringify(answer ?? null));
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  return {
    env: {
      PAIHAO_SERVER: server.url,
      PAIHAO_PROXY: proxy.url,
      PAIHAO_TCP_PROXY: `http://127.0.0.1:${tcp.port}`,
      PAIHAO_CONTROL: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    },
    async stop() {
      await Promise.all([proxy.stop(), tcp.stop()]);
      listener.closeAllConnections();
      listener.close();
      await once(listener, "close");
      await verbs.kill?.({});
      await removeKeys(storeUrl(), prefix);
    },
  };
}
