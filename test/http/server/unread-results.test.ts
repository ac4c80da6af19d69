import { once } from "node:events";
import { readFileSync } from "node:fs";
import net from "node:net";
import { expect } from "chai";
import { exchange, type Sent } from "../../helpers/http/server.ts";
import { endProcesses, type ServerProcess, startProcess } from "../../helpers/server-process.ts";
import { storeUrl, uniquePrefix } from "../../helpers/store/run-store.ts";
import { removeKeys } from "../../helpers/store/scan.ts";

const ASYNC = { Prefer: "respond-async" };
const MIB = 1024 ** 2;
/** What the handler `answers` makes of this. */
const INPUT = { kind: "huge" };
const BYTES = 15 * MIB;
/** The results of all of them are many times what the server may take for them. */
const READERS = 60;
/** Of documents with a result in it, which is checked to be JSON each time. */
const READERS_OF_DOCUMENTS = 20;
const MAX = 150 * MIB;

describe("large values for clients that do not read", function () {
  this.timeout(120_000);
  let server: ServerProcess;
  const prefix = uniquePrefix();
  const open: net.Socket[] = [];
  let usual = 0;

  const send = (path: string, sent?: Sent) => exchange(new URL(path, server.url), sent);
  const post = (path: string, body: unknown, headers = {}) => send(path, { method: "POST", body, headers });
  const ids = { task: "task", waiting: "waiting", allocated: "", prediction: "" };

  before(async () => {
    server = await startProcess({
      ...{ ROLE: "all", PORT: "0", KEY_PREFIX: prefix, HANDLERS: "test/fixtures/handlers", REPLICATE: "true" },
      MAX_BODY: "16mb",
    });
    await post("/v1/queues/answers/requests", INPUT, { "X-Request-Id": ids.task });
    ids.allocated = (await send("/api/v1/task?queue=answers")).json.id;
    await post(`/api/v1/task/${ids.allocated}`, INPUT);
    await send(`/v1/requests/${ids.allocated}/status?onPending=synchronous`);
    const asked = { version: "answers", input: INPUT };
    ids.prediction = (await post("/replicate/v1/predictions", asked, { Prefer: "wait" })).json.id;
    await post("/v1/queues/default/requests?delay=600", ["x".repeat(BYTES)], { "X-Request-Id": ids.waiting, ...ASYNC });
    usual = peakBytes();
  });
  afterEach(() => {
    for (const socket of open.splice(0)) socket.destroy();
  });
  after(async () => {
    await endProcesses([server]);
    await removeKeys(storeUrl(), prefix);
  });

  /** The most memory that the server has taken at a time. */
  function peakBytes(): number {
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))?.[1]) * 1024;
  }

  /** Asks, and reads no more than the first bytes. */
  async function askOnly(path: string, { method = "GET", headers = {}, body }: Sent): Promise<void> {
    const socket = net.connect(Number(new URL(server.url).port), "127.0.0.1");
    open.push(socket);
    socket.on("error", () => undefined);
    const text = body === undefined ? "" : JSON.stringify(body);
    const all = { Host: "127.0.0.1", "Content-Type": "application/json", "Content-Length": text.length, ...headers };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n${text}`);
    await once(socket, "readable");
    expect(String(socket.read(12))).to.equal("HTTP/1.1 200");
  }

  const again: Sent = { method: "POST", headers: { "X-Request-Id": ids.task }, body: INPUT };
  const ways: Readonly<Record<string, () => readonly [path: string, sent: Sent]>> = {
    "are collected": () => [`/v1/requests/${ids.task}`, {}],
    "are streamed by the monitor": () => [`/v1/requests/${ids.task}/status?onComplete=stream`, {}],
    "are the answers to synchronous requests": () => ["/v1/queues/answers/requests", again],
    "are in the documents of allocated tasks": () => [`/api/v1/task/${ids.allocated}`, {}],
    "are inputs": () => [`/v1/requests/${ids.waiting}/input`, {}],
    "are in predictions": () => [`/replicate/v1/predictions/${ids.prediction}`, {}],
  };
  for (const [way, request] of Object.entries(ways)) {
    it(`take little memory when they ${way}, and do not block those of others`, async () => {
      const [path, sent] = request();
      // One after the other: those that ask at once may share what is read for them.
      const readers = path.startsWith("/v1/") ? READERS : READERS_OF_DOCUMENTS;
      for (let n = 0; n < readers; n += 1) await askOnly(path, sent);
      expect((await post("/v1/requests", 1)).json.input).to.equal(1);
      expect((await send(path, sent)).body.length).to.be.at.least(BYTES);
      expect(peakBytes() - usual).to.be.below(MAX);
    });
  }
});
