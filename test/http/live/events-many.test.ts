import { once } from "node:events";
import net from "node:net";
import { expect } from "chai";
import { BUSY_MS } from "../../helpers/busy.ts";
import { closedGate, type Gate } from "../../helpers/gates.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";
import { eventually } from "../../shared/eventually.ts";

const WATCHERS = 1000;

/** A client that costs little: it keeps what comes as text. */
interface Client {
  readonly id: string;
  readonly socket: net.Socket;
  text: string;
}

describe("a thousand watchers of one process", function () {
  this.timeout(120_000);
  let server: TestServer;
  let gate: Gate;
  const clients: Client[] = [];
  before(async () => {
    server = await startServer({ LOG_LEVEL: "warn", MAX_STREAMS: "10000" });
    gate = closedGate();
  });
  after(() => server.stop());

  const connect = async (id: string): Promise<Client> => {
    const socket = net.connect(Number(new URL(server.url).port), "127.0.0.1");
    const client: Client = { id, socket, text: "" };
    socket.setEncoding("latin1");
    socket.on("data", (chunk: string) => {
      client.text += chunk;
    });
    socket.on("error", () => undefined);
    await once(socket, "connect");
    socket.write(`GET /v1/requests/${id}/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
    return client;
  };
  const statuses = ({ text }: Client) => text.split("event: status").length - 1;
  const lastIndex = ({ text }: Client) => Number(/"index":(\d+)(?!.*"index":)/s.exec(text)?.[1]);

  it("all learn their places", async () => {
    const first = await server.enqueue("gated", gate.input);
    await gate.entered;
    const lines = `${JSON.stringify(gate.input)}\n`.repeat(WATCHERS);
    const ids: string[] = (await server.batch("gated", lines)).map(({ id }) => id);
    expect(ids).to.have.length(WATCHERS);
    for (let n = 0; n < ids.length; n += 200) clients.push(...(await Promise.all(ids.slice(n, n + 200).map(connect))));
    await eventually(() => clients.every((client) => statuses(client) === 1));
    for (const [n, client] of clients.entries()) expect(lastIndex(client)).to.equal(n);
    expect(first).to.be.a("string");
  });

  it("are each notified once when the line moves", async () => {
    const before = clients.map(lastIndex);
    await server.send(`/v1/requests/${clients[0]?.id}`, { method: "DELETE" });
    const [canceled, ...others] = clients;
    if (!canceled) throw new Error("nobody watches");
    await eventually(() => others.every((client) => statuses(client) >= 2));
    for (const [n, client] of others.entries()) {
      expect(statuses(client)).to.equal(2);
      expect(lastIndex(client)).to.equal((before[n + 1] ?? 0) - 1);
    }
    await eventually(() => canceled.text.includes("event: done"));
  });

  it("do not delay other requests", async () => {
    const times: number[] = [];
    const begun = process.cpuUsage();
    for (let n = 0; n < 20; n += 1) {
      const began = performance.now();
      await server.post("default", n);
      times.push(performance.now() - began);
    }
    expect(process.cpuUsage(begun).user / 1000 / times.length, "ms of CPU").to.be.below(250);
    expect(times.sort((a, b) => a - b)[10]).to.be.below(250 + BUSY_MS);
  });

  it("all get comments, and are all closed when the server stops", async () => {
    const [, ...others] = clients;
    await eventually(() => others.every(({ text }) => /\r\n:\n\n/.test(text)));
    const closed = Promise.all(others.map(({ socket }) => once(socket, "close")));
    gate.open();
    await server.stop();
    await closed;
  });
});
