import type { Socket } from "node:net";
import { expect } from "chai";
import { useGateways } from "./gateway.ts";

describe("a gateway with a line key of its requests", () => {
  const scene = useGateways((port) => {
    const define = (queue: string, more: string) =>
      `export const ${queue} = defineGateway({ queue: "${queue}", target: "http://127.0.0.1:${port}", ${more} });`;
    return `const by = ({ headers }) => headers["x-tenant"] ?? null;
      ${define("fair", "concurrency: 1, fair: { by }")}
      ${define("keyed", "concurrency: 5, keyed: { by }")}
      ${define("limited", "concurrency: 5, limit: { waiting: 1, running: 1, by }")}
      ${define("models", "concurrency: 5, keyed: { by: ({ body }) => body?.model ?? null }")}`;
  });
  const ask = (queue: string, path: string, tenant?: string) => {
    const headers = { Prefer: "respond-async", ...(tenant !== undefined && { "X-Tenant": tenant }) };
    return scene.server.send(`/v1/gateway/${queue}${path}`, { headers });
  };
  /** Sends a request whose answer the test gives by what is returned. */
  const held = async (queue: string, path: string, tenant: string) => {
    const { upstream } = scene;
    let socket: Socket | undefined;
    upstream.answer(path, (at) => {
      socket = at;
    });
    await ask(queue, path, tenant);
    await upstream.came(path);
    return () => socket?.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  };

  it("lets keys take turns in a fair line; refuses a request without a key, and sends nothing", async () => {
    const { server, upstream } = scene;
    const answer = await held("fair", "/first", "loud");
    for (const path of ["/loud1", "/loud2", "/loud3"]) await ask("fair", path, "loud");
    expect((await ask("fair", "/quiet", "quiet")).json.index).to.equal(1);
    expect((await server.send("/v1/queues/fair")).json).to.include({ order: "fair", waiting: 4 });
    const keyless = await ask("fair", "/keyless");
    expect([keyless.status, keyless.json.type]).to.deep.equal([400, "/problems/invalid-input"]);
    answer();
    await upstream.came("/loud3");
    expect(upstream.requests.map(({ line }) => line.split(" ")[1])).to.deep.equal([
      ...["/first", "/loud1", "/quiet", "/loud2", "/loud3"],
    ]);
  });

  it("sends the requests of one key one after the other in a keyed line, and others meanwhile", async () => {
    const { server, upstream } = scene;
    const answer = await held("keyed", "/a1", "a");
    const { id } = (await ask("keyed", "/a2", "a")).json;
    await ask("keyed", "/b1", "b");
    await ask("keyed", "/free");
    await Promise.all(["/b1", "/free"].map((path) => upstream.came(path)));
    expect((await server.send(`/v1/requests/${id}/status`)).json).to.include({ held: true, state: "waiting" });
    expect(upstream.to("/a2")).to.deep.equal([]);
    answer();
    await upstream.came("/a2");
  });

  it("refuses requests of a key above its limit", async () => {
    const { upstream } = scene;
    const answer = await held("limited", "/c1", "c");
    expect((await ask("limited", "/c2", "c")).status).to.equal(202);
    const refused = await ask("limited", "/c3", "c");
    expect([refused.status, refused.json.type]).to.deep.equal([429, "/problems/too-many-tasks"]);
    expect(refused.json).to.include({ limit: 1, waiting: 1, running: 1 });
    answer();
    await upstream.came("/c2");
  });

  it("derives keys from bodies that are JSON, and stores bodies as they are", async () => {
    const { server, upstream } = scene;
    const send = (path: string, type: string, body: string | Buffer) =>
      server.send(`/v1/gateway/models${path}`, {
        ...{ method: "POST", body },
        headers: { Prefer: "respond-async", "Content-Type": type, "X-Mine": "1" },
      });
    const answers: (() => void)[] = [];
    for (const path of ["/json", "/bytes", "/next"])
      upstream.answer(path, (socket) => {
        answers.push(() => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
      });
    const json = Buffer.from('{"model":"m","text":"é"}');
    const bytes = Buffer.from([0, 10, 255, 10]);
    const sent = (await send("/json", "application/json; charset=utf-8", json)).json;
    await upstream.came("/json");
    const held = (await send("/next", "application/vnd.x+json", json)).json;
    const other = (await send("/bytes", "application/octet-stream", bytes)).json;
    await upstream.came("/bytes");
    expect((await server.send(`/v1/requests/${held.id}/status`)).json).to.include({ held: true, state: "waiting" });
    expect(upstream.to("/json")[0]?.body).to.equal(json.toString("latin1"));
    expect(upstream.to("/bytes")[0]?.body).to.equal(bytes.toString("latin1"));
    const { input } = (await server.send(`/v1/requests/${sent.id}/timeline`)).json;
    expect(input.json).to.deep.include({ method: "POST", path: "/json", bodyBytes: json.length });
    expect(input.json.headers).to.include({ "x-mine": "1" });
    const stored = await (await fetch(new URL(`/v1/requests/${other.id}/input`, server.url))).arrayBuffer();
    expect(Buffer.from(stored).subarray(-bytes.length)).to.deep.equal(bytes);
    for (const answer of answers.splice(0)) answer();
    await upstream.came("/next");
    for (const answer of answers) answer();
  });
});
