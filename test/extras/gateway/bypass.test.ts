import { expect } from "chai";
import { defineGateway } from "../../../src/extras/gateway/gateway.ts";
import { type RequestHead, requestInput } from "../../../src/extras/gateway/request.ts";
import { openWorkshop, type Workshop } from "../../helpers/workshop.ts";
import { field, type GatewayServer, type RawUpstream, startUpstream, useGateways } from "./gateway.ts";

/** A request as nobody but a gateway's route should make it. */
const HAND_MADE = {
  method: "DELETE",
  path: "/secret",
  headers: { Authorization: "Bearer stolen", cookie: "a=b", "content-length": "999", "x-mine": "kept" },
  from: { version: "1.1" },
};

describe("a queue of a gateway", () => {
  const t = useGateways(
    (
      port,
    ) => `export const rw = defineGateway({ queue: "rw", target: "http://127.0.0.1:${port}", methods: ["GET", "POST"] });
       export const plain = defineHandler({ queue: "plain", run: () => 1 });`,
  );

  const body = HAND_MADE;
  const ndjson = { "Content-Type": "application/x-ndjson" };
  const WAYS: Readonly<Record<string, () => ReturnType<GatewayServer["send"]>>> = {
    "POST …/requests": () => t.server.post("rw", body),
    "POST …/requests?dryRun=true": () => t.server.send("/v1/queues/rw/requests?dryRun=true", { method: "POST", body }),
    "PUT …/requests/{id}": () => t.server.send("/v1/queues/rw/requests/mine", { method: "PUT", body }),
    "POST …/batches": () =>
      t.server.send("/v1/queues/rw/batches", { method: "POST", headers: ndjson, body: `${JSON.stringify(body)}\n` }),
    "GET /api/v1/task": () => t.server.send("/api/v1/task?queue=rw"),
  };
  it("refuses a handmade request, whichever way it comes", async () => {
    for (const [way, send] of Object.entries(WAYS)) {
      const { json } = await send();
      expect(json, way).to.include({ status: 404, type: "/problems/unknown-queue" });
      expect(json.detail, way).to.contain("/v1/gateway/rw/");
    }
    expect(t.upstream.requests).to.have.length(0);
  });

  it("refuses a handmade request for the id of one of its tasks", async () => {
    const made = await t.server.send("/v1/gateway/rw/made", { headers: { "X-Request-Id": "made" } });
    expect(made.status).to.equal(200);
    const replaced = await t.server.send("/v1/requests/made", { method: "PUT", body });
    expect(replaced.status).to.be.oneOf([404, 409]);
    expect(t.upstream.to("/secret")).to.have.length(0);
  });

  it("is inspected and managed like any other", async () => {
    expect((await t.server.send("/v1/queues/rw")).json.name).to.equal("rw");
    expect((await t.server.send("/v1/queues/rw/waiting")).status).to.equal(200);
  });
});

describe("a request in the queue of a gateway, however it came there", () => {
  let upstream: RawUpstream;
  let shop: Workshop;
  before(async () => {
    upstream = await startUpstream();
    const target = `http://127.0.0.1:${upstream.port}/base`;
    shop = await openWorkshop([defineGateway({ queue: "rw", target, methods: ["GET", "POST"] })]);
    await shop.worker();
  });
  after(async () => {
    await shop.close();
    await upstream.close();
  });

  const HEAD = { ...HAND_MADE, method: "GET" } as const;
  const submit = (head: RequestHead) => shop.submit(null, requestInput({ head, body: Buffer.from("x") }));

  it("is not forwarded if the gateway does not take its method, its path may lead out of the target, or a header cannot be sent", async () => {
    const paths = ["/../x", "/..%2fx", "/..;/x", "/a b", "/a\r\nX: y"].map((path) => ({ path }));
    const headers = [{ "b ad": "1" }, { "x-a": "1\r\nX-B: 2" }, { "x-a": "排" }].map((headers) => ({ headers }));
    for (const part of [{ method: "DELETE" } as const, ...paths, ...headers]) {
      const seen = await shop.ended(await submit({ ...HEAD, ...part }));
      expect(seen.state, JSON.stringify(part)).to.equal("failed");
      expect(seen.result?.status, JSON.stringify(part)).to.equal("method" in part ? 405 : 400);
    }
    expect(upstream.requests).to.have.length(0);
  });

  it("is forwarded with its own length, and without secret headers in any case", async () => {
    const id = await submit({ ...HEAD, method: "POST" });
    expect(await shop.answer(id)).to.equal("ok");
    const [request] = upstream.to("/base/secret");
    expect(request?.body).to.equal("x");
    expect(request?.fields.map(([name]) => name)).to.not.include.members(["authorization", "cookie"]);
    expect(request && field(request, "content-length")).to.equal("1");
    expect(request && field(request, "x-mine")).to.equal("kept");
  });
});

describe("a gateway", () => {
  it("names an option that it refuses, without a password", () => {
    const refused = (options: object, message: RegExp) =>
      expect(() => defineGateway({ queue: "rw", target: "http://h", ...options })).to.throw(TypeError, message);
    for (const target of ["", "ftp://h", "http://u:p@h", "http://h/?x=1", "http://h/#x", "/path"])
      refused({ target }, /^gateway of queue "rw": target is (?!.*u:p)/);
    for (const methods of [[], ["get"], ["GET", "TRACE"]]) refused({ methods }, /^gateway of queue "rw": methods is /);
    refused({ forward: "X-Tenant" }, /^gateway of queue "rw": forward is "X-Tenant", expected a list/);
    for (const name of [
      ...[
        "Connection",
        "TE",
        "Transfer-Encoding",
        "Upgrade",
        "Proxy-Authorization",
        "Keep_Alive",
        "Host",
        "Content-Length",
      ],
      ...["Expect", "Prefer", "Priority", "Cancel-After", "X-Request-Id", "traceparent", "X-Forwarded-For", "Via"],
      ...["Authorization", "Cookie", "", "X Y", "X-A:", 7, "*\r\n"],
    ]) {
      const define = () => defineGateway({ queue: "rw", target: "http://h", forward: [name as string] });
      const message = `gateway of queue "rw": forward contains ${JSON.stringify(name)}, `;
      expect(define).to.throw(TypeError).with.property("message").that.contains(message);
    }
    expect(() => defineGateway({ queue: "rw", target: "http://h", forward: [] })).to.not.throw();
  });
});
