import { expect } from "chai";
import { field, useGateways } from "./gateway.ts";

describe("a gateway to an existing HTTP API", () => {
  const t = useGateways(
    (
      port,
    ) => `export const legacy = defineGateway({ queue: "legacy", target: "http://127.0.0.1:${port}", attempts: 3 });
       export const reading = defineGateway({ queue: "reading", target: "http://127.0.0.1:${port}", methods: ["GET"] });
       export const plain = defineHandler({ queue: "plain", run: () => 1 });`,
  );

  it("retries an idempotent method after a 429 with Retry-After or a 5xx, and returns the last answer", async () => {
    const busy = ["429 Busy\r\nRetry-After: 0", "503 Down"].map(
      (head) => `HTTP/1.1 ${head}\r\nContent-Length: 0\r\n\r\n`,
    );
    t.upstream.answer("/busy", ...busy);
    expect((await t.server.send("/v1/gateway/legacy/busy")).text).to.equal("ok");
    expect(t.upstream.to("/busy")).to.have.length(3);
  });

  it("cancels a request at its Cancel-After, which is not forwarded; a query parameter of that name is", async () => {
    const path = "/slow?deadline=9000";
    t.upstream.answer(path, "HTTP/1.1 429 Busy\r\nRetry-After: 600\r\nContent-Length: 0\r\n\r\n");
    const { status, json } = await t.server.send(`/v1/gateway/legacy${path}`, { headers: { "Cancel-After": "1s" } });
    expect(status).to.equal(410);
    expect(json).to.include({ type: "/problems/canceled", reason: "deadline" });
    expect(t.upstream.to(path).map((request) => field(request, "cancel-after"))).to.deep.equal([undefined]);
  });

  it("takes a Presence, which is not forwarded; a query of that name is the API's", async () => {
    const path = "/present?presence=no";
    const headers = { Presence: "30m", Prefer: "respond-async" };
    const accepted = await t.server.send(`/v1/gateway/legacy${path}`, { headers });
    expect(accepted.headers).to.include({ presence: "1800" });
    await t.upstream.came(path);
    expect(t.upstream.to(path).map((request) => field(request, "presence"))).to.deep.equal([undefined]);
  });

  it("answers 405 with Allow, 404 for unknown queues and those of handlers, and 503 queue-paused", async () => {
    const wrong = await t.server.send("/v1/gateway/reading/x", { method: "DELETE" });
    expect([wrong.status, wrong.headers.allow]).to.deep.equal([405, "GET"]);
    for (const queue of ["nowhere", "plain"]) {
      expect((await t.server.send(`/v1/gateway/${queue}/x`)).json.type).to.equal("/problems/unknown-queue");
    }
    await t.server.send("/v1/queues/reading/pause", { method: "POST" });
    expect((await t.server.send("/v1/gateway/reading/x")).json.type).to.equal("/problems/queue-paused");
    await t.server.send("/v1/queues/reading/resume", { method: "POST" });
    expect((await t.server.send("/v1/gateway/reading/x")).status).to.equal(200);
  });
});
