import type { Socket } from "node:net";
import { expect } from "chai";
import { useGateways } from "./gateway.ts";

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

describe("a gateway with a fair line", () => {
  const scene = useGateways(
    (port) => `
      const by = ({ headers }) => headers["x-tenant"];
      export const shared = defineGateway({ queue: "shared", target: "http://127.0.0.1:${port}", concurrency: 1, fair: { by } });`,
  );
  const ask = (path: string, tenant: string | undefined) => {
    const headers = { Prefer: "respond-async", ...(tenant === undefined ? {} : { "X-Tenant": tenant }) };
    return scene.server.send(`/v1/gateway/shared${path}`, { headers });
  };

  it("lets keys of its requests take turns", async () => {
    const { server, upstream } = scene;
    let held: Socket | undefined;
    upstream.answer("/first", (socket) => {
      held = socket;
    });
    await ask("/first", "loud");
    await upstream.came("/first");
    for (const path of ["/loud1", "/loud2", "/loud3"]) await ask(path, "loud");
    expect((await ask("/quiet", "quiet")).json.index).to.equal(1);
    expect((await server.send("/v1/queues/shared")).json).to.include({ order: "fair", waiting: 4 });
    held?.write(OK);
    await upstream.came("/loud3");
    expect(upstream.requests.map(({ line }) => line.split(" ")[1])).to.deep.equal([
      "/first",
      "/loud1",
      "/quiet",
      "/loud2",
      "/loud3",
    ]);
  });

  it("refuses a request without a key: 400 invalid-input, and nothing is sent", async () => {
    const answer = await ask("/keyless", undefined);
    expect(answer).to.have.property("status", 400);
    expect(answer.json.type).to.include("invalid-input");
    expect(scene.upstream.to("/keyless")).to.deep.equal([]);
  });
});
