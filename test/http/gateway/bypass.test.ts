import { expect } from "chai";
import { defineGateway } from "../../../src/handler/gateway/gateway.ts";
import { openWorkshop, type Workshop } from "../../helpers/workshop.ts";
import { field, type GatewayServer, type RawUpstream, startGateways, startUpstream } from "./gateway.ts";

/** A request as nobody but a gateway's route should make it. */
const HAND_MADE = {
  method: "DELETE",
  path: "/secret",
  headers: { Authorization: "Bearer stolen", cookie: "a=b", "content-length": "999", "x-mine": "kept" },
  body: "eA==",
};

describe("a queue of a gateway", () => {
  let upstream: RawUpstream;
  let server: GatewayServer;
  before(async () => {
    upstream = await startUpstream();
    server = await startGateways(
      `export const rw = defineGateway({ queue: "rw", target: "http://127.0.0.1:${upstream.port}", methods: ["GET", "POST"] });
       export const plain = defineHandler({ queue: "plain", run: () => 1 });`,
    );
  });
  after(async () => {
    await server.stop();
    await upstream.close();
  });

  const body = HAND_MADE;
  const ndjson = { "Content-Type": "application/x-ndjson" };
  const WAYS: Readonly<Record<string, () => ReturnType<GatewayServer["send"]>>> = {
    "POST …/requests": () => server.post("rw", body),
    "POST …/requests?dryRun=true": () => server.send("/v1/queues/rw/requests?dryRun=true", { method: "POST", body }),
    "PUT …/requests/{id}": () => server.send("/v1/queues/rw/requests/mine", { method: "PUT", body }),
    "POST …/batches": () =>
      server.send("/v1/queues/rw/batches", { method: "POST", headers: ndjson, body: `${JSON.stringify(body)}\n` }),
    "GET /api/v1/task": () => server.send("/api/v1/task?queue=rw"),
  };
  for (const [way, send] of Object.entries(WAYS)) {
    it(`takes no request that was made by hand: ${way}`, async () => {
      const answer = await send();
      expect(answer.status).to.equal(404);
      expect(answer.json.type).to.equal("/problems/unknown-queue");
      expect(answer.json.detail).to.contain("/v1/gateway/rw/");
      expect(upstream.requests).to.have.length(0);
    });
  }

  it("takes none for the id of one of its tasks either", async () => {
    await server.send("/v1/queues/rw/pause", { method: "POST" });
    await server.send("/v1/queues/rw/resume", { method: "POST" });
    const made = await server.send("/v1/gateway/rw/made", { headers: { "X-Request-Id": "made" } });
    expect(made.status).to.equal(200);
    const replaced = await server.send("/v1/requests/made", { method: "PUT", body });
    expect(replaced.status).to.be.oneOf([404, 409]);
    expect(upstream.to("/secret")).to.have.length(0);
  });

  it("is looked at and looked after like any other", async () => {
    expect((await server.send("/v1/queues/rw")).json.name).to.equal("rw");
    expect((await server.send("/v1/queues/rw/waiting")).status).to.equal(200);
  });
});

describe("a request in the queue of a gateway, stored by whatever version", () => {
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

  it("is not forwarded by a method that the gateway does not take", async () => {
    const { seen, problem } = await problemOf({ ...HAND_MADE, method: "DELETE" });
    expect(seen.state).to.equal("failed");
    expect(problem).to.include({ status: 405, title: "The gateway does not take this method" });
    expect(upstream.requests).to.have.length(0);
  });

  it("is not forwarded where its path may lead out of the target", async () => {
    for (const path of ["/../x", "/..%2fx", "/..;/x", "/a b", "/a\r\nX: y"]) {
      const { problem } = await problemOf({ ...HAND_MADE, method: "GET", path });
      expect(problem, path).to.include({ status: 400 });
    }
    expect(upstream.requests).to.have.length(0);
  });

  it("is not forwarded with headers that cannot be sent", async () => {
    for (const headers of [{ "b ad": "1" }, { "x-a": "1\r\nX-B: 2" }, { "x-a": "排" }]) {
      const { problem } = await problemOf({ method: "GET", path: "/headers", headers });
      expect(problem).to.include({ status: 400, title: "The request cannot be forwarded" });
    }
    expect(upstream.requests).to.have.length(0);
  });

  it("is forwarded with its own length, and without secrets in whatever case", async () => {
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
      expect(() => defineGateway({ queue: "rw", target })).to.throw(TypeError, /^gateway of queue "rw": target is /);
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
