import { once } from "node:events";
import net from "node:net";
import { expect } from "chai";
import { startServer, type TestServer } from "../../helpers/http/server.ts";

const BYTES = 15 * 1024 ** 2;

describe("large results over HTTP", function () {
  // Base64 of 15 MB is read and written here, also on a machine that has other things to do.
  this.timeout(60_000);
  let server: TestServer;
  before(async () => {
    server = await startServer({ ROLE: "api" });
  });
  after(() => server.stop());

  const post = (path: string, body: unknown) => server.send(path, { method: "POST", body });
  async function completed(byte: number): Promise<string> {
    const id = await server.enqueue("default", {});
    const [{ fence }] = (await post("/v1/queues/default/leases", {})).json.items;
    const body = Buffer.alloc(BYTES, byte).toString("base64");
    expect((await post(`/v1/leases/${id}/complete`, { fence, body })).json.verdict).to.equal("done");
    return id;
  }

  it("are collected by many callers at once, while tasks keep being reserved", async () => {
    const id = await completed(1);
    const collecting = Promise.all(
      Array.from({ length: 24 }, async () => {
        const { status, body } = await server.send(`/v1/requests/${id}`);
        return `${status} ${body.length} ${body.at(-1)}`;
      }),
    );
    const other = await server.enqueue("default", {});
    const [lease] = (await post("/v1/queues/default/leases", {})).json.items;
    expect(lease.id).to.equal(other);
    expect((await post(`/v1/leases/${other}/complete`, { fence: lease.fence, result: 1 })).json.verdict).to.equal(
      "done",
    );
    expect(new Set(await collecting)).to.deep.equal(new Set([`200 ${BYTES} 1`]));
  });

  it("are collected at once for many tasks", async () => {
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.push(await completed(n));
    const answers = await Promise.all(ids.flatMap((id) => [id, id]).map((id) => server.send(`/v1/requests/${id}`)));
    expect(answers.map(({ status, body }) => `${status} ${body.length} ${body.at(-1)}`)).to.deep.equal(
      [0, 0, 1, 1, 2, 2, 3, 3, 4, 4].map((n) => `200 ${BYTES} ${n}`),
    );
  });

  it("have the headers and conditions of any other", async () => {
    const id = await completed(2);
    const whole = await server.send(`/v1/requests/${id}`);
    const head = await server.send(`/v1/requests/${id}`, { method: "HEAD" });
    for (const { status, headers } of [whole, head]) {
      expect([status, headers["content-length"], headers["transfer-encoding"]]).to.deep.equal([
        200,
        `${BYTES}`,
        undefined,
      ]);
    }
    const tag = String(whole.headers.etag);
    expect(head.headers.etag).to.equal(tag);
    const fresh = await server.send(`/v1/requests/${id}`, { headers: { "If-None-Match": tag } });
    expect([fresh.status, fresh.body.length]).to.deep.equal([304, 0]);
    const refused = await server.send(`/v1/requests/${id}`, { method: "DELETE", headers: { "If-Match": '"other"' } });
    expect(refused.status).to.equal(412);
    expect(
      (await server.send(`/v1/requests/${id}`, { method: "DELETE", headers: { "If-Match": tag } })).status,
    ).to.equal(204);
  });

  it("that are deleted while they are sent end with the connection, so that nobody takes a part for the whole", async () => {
    const id = await completed(3);
    const socket = net.connect(Number(new URL(server.url).port), "127.0.0.1");
    socket.write(`GET /v1/requests/${id} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
    await once(socket, "readable");
    await server.send(`/v1/requests/${id}`, { method: "DELETE" });
    let bytes = 0;
    socket.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
    });
    socket.on("error", () => undefined);
    await once(socket, "close");
    expect(bytes).to.be.below(BYTES);
  });

  it("are delivered as inputs with a lease to workers over HTTP", async () => {
    const input = { text: "排".repeat(200_000) };
    const id = await server.enqueue("default", input);
    const [lease] = (await post("/v1/queues/default/leases", {})).json.items;
    expect([lease.id, lease.input.text.length]).to.deep.equal([id, 200_000]);
    expect(lease.input.text === input.text).to.equal(true);
  });
});
