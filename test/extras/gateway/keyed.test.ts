import type { Socket } from "node:net";
import { expect } from "chai";
import { useGateways } from "./gateway.ts";

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

describe("a gateway with a keyed line", () => {
  const scene = useGateways(
    (port) => `
      const by = ({ headers }) => headers["x-customer"] ?? null;
      export const keyed = defineGateway({ queue: "by-customer", target: "http://127.0.0.1:${port}", concurrency: 5, keyed: { by } });`,
  );
  const ask = (path: string, customer?: string) => {
    const headers = { Prefer: "respond-async", ...(customer === undefined ? {} : { "X-Customer": customer }) };
    return scene.server.send(`/v1/gateway/by-customer${path}`, { headers });
  };

  it("sends the requests of one key one after the other, and others meanwhile", async () => {
    const { server, upstream } = scene;
    let first: Socket | undefined;
    upstream.answer("/a1", (socket) => {
      first = socket;
    });
    await ask("/a1", "a");
    await upstream.came("/a1");
    const held = (await ask("/a2", "a")).json.id;
    await ask("/b1", "b");
    await ask("/free");
    await upstream.came("/b1");
    await upstream.came("/free");
    expect((await server.send(`/v1/requests/${held}/status`)).json).to.include({ held: true, state: "waiting" });
    expect(upstream.to("/a2")).to.deep.equal([]);
    first?.write(OK);
    await upstream.came("/a2");
  });
});
