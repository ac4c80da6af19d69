import type { Socket } from "node:net";
import { expect } from "chai";
import { useGateways } from "./gateway.ts";

describe("a gateway with limits of a caller", () => {
  const scene = useGateways(
    (port) => `
      const by = ({ headers }) => headers["x-customer"] ?? null;
      export const limited = defineGateway({
        queue: "by-customer", target: "http://127.0.0.1:${port}", concurrency: 5, limit: { waiting: 1, running: 1, by },
      });`,
  );

  it("refuses requests of a customer above its limit, and sends those of others meanwhile", async () => {
    const { server, upstream } = scene;
    const ask = (path: string, customer: string) => {
      const headers = { Prefer: "respond-async", "X-Customer": customer };
      return server.send(`/v1/gateway/by-customer${path}`, { headers });
    };
    let first: Socket | undefined;
    upstream.answer("/a1", (socket) => {
      first = socket;
    });
    await ask("/a1", "a");
    await upstream.came("/a1");
    expect((await ask("/a2", "a")).status).to.equal(202);
    const refused = await ask("/a3", "a");
    expect([refused.status, refused.json.type]).to.deep.equal([429, "/problems/too-many-tasks"]);
    expect(refused.json).to.include({ limit: 1, waiting: 1, running: 1 });
    await ask("/b1", "b");
    await upstream.came("/b1");
    expect(upstream.to("/a2")).to.deep.equal([]);
    first?.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    await upstream.came("/a2");
  });
});
