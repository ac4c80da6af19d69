import { expect } from "chai";
import { defineGateway } from "../../../src/extras/gateway/gateway.ts";
import { openWorkshop, type Workshop } from "../../helpers/workshop.ts";
import { field, type GatewayServer, type RawUpstream, startUpstream, useGateways } from "./gateway.ts";

/** A request as nobody but a gateway's route should make it. */
const HAND_MADE = {
  method: "DELETE",
  path: "/secret",
  headers: { Authorization: "Bearer stolen", cookie: "a=b", "content-length": "999", "x-mine": "kept" },
  body: "eA==",
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
  for (const [way, send] of Object.entries(WAYS)) {
    it(`refuses a handmade request: ${way}`, async () => {
      const answer = await send();
      expect(answer.status).to.equal(404);
      expect(answer.json.type).to.equal("/problems/unknown-queue");
      expect(answer.json.detail).to.contain("/v1/gateway/rw/");
      expect(t.upstream.requests).to.have.length(0);
    });
  }

  it("refuses a handmade request for the id of one of its tasks", async () => {
    await t.server.send("/v1/queues/rw/pause", { method: "POST" });
    await t.server.send("/v1/queues/rw/resume", { method: "POST" });
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

  const problemOf = async (request: object) => {
    const seen = await shop.ended(await shop.submit(request));
    return { seen, problem: JSON.parse(Buffer.from(seen.result?.body ?? []).toString()) };
  };

  it("is not forwarded if the gateway does not take its method", async () => {
    const { seen, problem } = await problemOf({ ...HAND_MADE, method: "DELETE" });
    expect(seen.state).to.equal("failed");
    expect(problem).to.include({ status: 405, title: "The gateway does not support this method" });
    expect(upstream.requests).to.have.length(0);
  });

  it("is not forwarded if its path may lead out of the target", async () => {
    for (const path of ["/../x", "/..%2fx", "/..;/x", "/a b", "/a\r\nX: y"]) {
      const { problem } = await problemOf({ ...HAND_MADE, method: "GET", path });
      expect(problem, path).to.include({ status: 400 });
    }
    expect(upstream.requests).to.have.length(0);
  });

  it("is not forwarded with headers that cannot be sent", async () => {
    for (const headers of [{ "b ad": "1" }, { "x-a": "1\r\nX-B: 2" }, { "x-a": "排" }]) {
      const { problem } = await problemOf({ ...HAND_MADE, method: "GET", path: "/headers", headers });
      expect(problem).to.include({ status: 400, title: "The request cannot be forwarded" });
    }
    expect(upstream.requests).to.have.length(0);
  });

  it("is forwarded with its own length, and without secret headers in any case", async () => {
    const id = await shop.submit({ ...HAND_MADE, method: "POST" });
    expect(await shop.answer(id)).to.equal("ok");
    const [request] = upstream.to("/base/secret");
    expect(request?.body).to.equal("x");
    expect(request?.fields.map(([name]) => name)).to.not.include.members(["authorization", "cookie"]);
    expect(request && field(request, "content-length")).to.equal("1");
    expect(request && field(request, "x-mine")).to.equal("kept");
  });
});

describe("the target of a gateway", () => {
  for (const target of ["", "ftp://h", "http://u:p@h", "http://h/?x=1", "http://h/#x", "/path"]) {
    it(`cannot be ${JSON.stringify(target)}`, () => {
      expect(() => defineGateway({ queue: "rw", target })).to.throw(
        TypeError,
        /^gateway of queue "rw": target is (?!.*u:p)/,
      );
    });
  }
});

describe("the methods of a gateway", () => {
  for (const methods of [[], ["get"], ["GET", "TRACE"]]) {
    it(`cannot be ${JSON.stringify(methods)}`, () => {
      const define = () => defineGateway({ queue: "rw", target: "http://h", methods: methods as ["GET"] });
      expect(define).to.throw(TypeError, /^gateway of queue "rw": methods is /);
    });
  }
});
