import { once } from "node:events";
import net from "node:net";
import { expect } from "chai";
import { startServer, type TestServer } from "../../helpers/http/server.ts";

const MIB = 1024 ** 2;
/** More than the connections of a reader and the server hold. */
const HUGE = 15 * MIB;

describe("large results over HTTP", function () {
  // Much is read and written here, also on a machine that has other things to do.
  this.timeout(60_000);
  let server: TestServer;
  before(async () => {
    server = await startServer({ ROLE: "api" });
  });
  after(() => server.stop());

  const post = (path: string, body: unknown) => server.send(path, { method: "POST", body });
  async function completed(byte: number, bytes = 3 * MIB): Promise<string> {
    const id = await server.enqueue("default", {});
    const [{ fence }] = (await post("/v1/queues/default/leases", {})).json.items;
    const body = Buffer.alloc(bytes, byte).toString("base64");
    expect((await post(`/v1/leases/${id}/complete`, { fence, body })).json.verdict).to.equal("done");
    return id;
  }

  it("of several tasks are collected by many callers at once, while tasks keep being reserved", async () => {
    const bytes = [0, 1, 2];
    const ids: string[] = [];
    for (const byte of bytes) ids.push(await completed(byte));
    const collecting = Promise.all(
      Array.from({ length: 24 }, async (_, n) => {
        const { status, body } = await server.send(`/v1/requests/${ids[n % ids.length]}`);
        return `${status} ${body.length} ${body[0]} ${body.at(-1)}`;
      }),
    );
    const other = await server.enqueue("default", {});
    const [lease] = (await post("/v1/queues/default/leases", {})).json.items;
    expect(lease.id).to.equal(other);
    expect((await post(`/v1/leases/${other}/complete`, { fence: lease.fence, result: 1 })).json.verdict).to.equal(
      "done",
    );
    const seen = await collecting;
    for (const [n, one] of seen.entries()) {
      const byte = n % ids.length;
      expect(one).to.equal(`200 ${3 * MIB} ${byte} ${byte}`);
    }
  });

  it("have the headers and conditions of any other", async () => {
    const id = await completed(2);
    const whole = await server.send(`/v1/requests/${id}`);
    const head = await server.send(`/v1/requests/${id}`, { method: "HEAD" });
    for (const { status, headers } of [whole, head]) {
      expect([status, headers["content-length"], headers["transfer-encoding"]]).to.deep.equal([
        200,
        `${3 * MIB}`,
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
    const id = await completed(3, HUGE);
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
    expect(bytes).to.be.below(HUGE);
  });

  it("are delivered as inputs with a lease to workers over HTTP", async () => {
    const input = { text: "排".repeat(200_000) };
    const id = await server.enqueue("default", input);
    const [lease] = (await post("/v1/queues/default/leases", {})).json.items;
    expect([lease.id, lease.input.text.length]).to.deep.equal([id, 200_000]);
    expect(lease.input.text === input.text).to.equal(true);
  });
});
