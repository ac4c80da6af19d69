import { expect } from "chai";
import { closedGate } from "../../helpers/gates.ts";
import { testKeys } from "../../helpers/http/api-keys.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe("the id of a task over HTTP", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server.stop());

  it("is derived from the Idempotency-Key, quoted or bare, which wins over X-Request-Id (the header's draft, §2.1)", async () => {
    const submit = (key: string) =>
      server.post("default", { order: 17 }, { "Idempotency-Key": key, "X-Request-Id": "not-used" });
    const first = await submit("order-17");
    const again = await submit('"order-17"');
    expect(first.headers["x-request-id"]).to.match(UUID);
    expect(again.headers["x-request-id"]).to.equal(first.headers["x-request-id"]);
    expect(first.headers).to.not.have.property("idempotent-replayed");
    expect(again.headers["idempotent-replayed"]).to.equal("true");
    expect(again.text).to.equal(first.text);
    const elsewhere = await server.post("answers", { kind: "json" }, { "Idempotency-Key": "order-17" });
    expect(elsewhere.headers["x-request-id"]).to.not.equal(first.headers["x-request-id"]);
  });

  it("is the same for an Idempotency-Key in every process of a deployment, and after a restart", async () => {
    const input = { order: 18 };
    const first = await server.post("default", input, { "Idempotency-Key": "order-18" });
    const other = await startServer({ KEY_PREFIX: server.prefix });
    const again = await other.post("default", input, { "Idempotency-Key": "order-18" });
    await other.stop({ keep: true });
    expect(again.headers["x-request-id"]).to.equal(first.headers["x-request-id"]);
    expect(again.headers["idempotent-replayed"]).to.equal("true");
    // Another deployment makes another one of it: nobody can compute an id and take it before its caller does.
    const elsewhere = await startServer();
    const their = await elsewhere.post("default", input, { "Idempotency-Key": "order-18" });
    await elsewhere.stop();
    expect(their.headers["x-request-id"]).to.match(UUID).and.not.equal(first.headers["x-request-id"]);
  });

  it("is the same for every caller in a refusal, so that it does not reveal whether a key is valid", async () => {
    const keys = testKeys({ ann: ["submit"], bob: ["read"] });
    const guarded = await startServer({ ...keys.env, ALLOWED_HOSTS: "tasks.example" });
    const idOf = async (Authorization: string, status: number, more: Record<string, string>, search = "") => {
      const answer = await guarded.send(`/v1/requests${search}`, {
        method: "POST",
        body: 1,
        headers: { "Idempotency-Key": "k", ...(Authorization && { Authorization }), ...more },
      });
      expect(answer.status).to.equal(status);
      return answer.headers["x-request-id"];
    };
    const ann = String(keys.as("ann").Authorization);
    const bob = String(keys.as("bob").Authorization);
    try {
      const own = await idOf(ann, 200, {});
      for (const [status, more, search] of [
        [403, { Origin: "https://evil.example" }, ""],
        [421, { Host: "evil.example" }, ""],
        [400, {}, `?x=${"x".repeat(8200)}`],
        [414, {}, `?x=${"x".repeat(16_400)}`],
      ] as const) {
        const ids = [ann, bob, "Bearer guess", ""].map((who) => idOf(who, status, more, search));
        expect(new Set(await Promise.all(ids)), String(status)).to.have.property("size", 1);
        expect(await ids[0], String(status)).to.not.equal(own);
      }
      expect(await idOf(bob, 403, {})).to.equal(await idOf("Bearer guess", 401, {}));
    } finally {
      await guarded.stop();
    }
  });

  it("is the one in the path of a PUT, on both paths, escaped or not", async () => {
    for (const [path, id] of [
      ["/v1/requests/chosen-1", "chosen-1"],
      ["/v1/queues/default/requests/chosen-2", "chosen-2"],
      ["/v1/requests/ch%6Fsen-3", "chosen-3"],
      ["/v1/requests/chosen-4/", "chosen-4"],
    ] as const) {
      const answer = await server.send(path, { method: "PUT", body: 1, headers: { "X-Request-Id": "other" } });
      expect(answer.status, path).to.equal(200);
      expect(answer.json.id).to.equal(id);
      expect(answer.headers["x-request-id"]).to.equal(id);
    }
  });
});

describe("the same id again", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer({ SYNC_LIMIT: "10s" });
  });
  after(() => server.stop());
  const submit = (id: string, input: unknown, headers: Record<string, string> = {}, queue = "gated") =>
    server.post(queue, input, { "X-Request-Id": id, ...headers });

  it("waits for that task if it is synchronous and pending, and runs it once", async () => {
    const gate = closedGate();
    const first = submit("shared", gate.input);
    await gate.entered;
    const others = [submit("shared", gate.input), submit("shared", gate.input, { Prefer: "wait=9" })];
    gate.open({ ran: "once" });
    for (const answer of await Promise.all([first, ...others])) {
      expect(answer.status).to.equal(200);
      expect(answer.json).to.deep.equal({ ran: "once" });
    }
  });

  it("is a conflict with another query for the handler, which is another input", async () => {
    await server.post("default", { n: 1 }, { "X-Request-Id": "taken" });
    const sent = { method: "POST", headers: { "X-Request-Id": "taken" }, body: { n: 1 } };
    const query = await server.send("/v1/requests?w=1", sent);
    expect([query.status, query.json.type]).to.deep.equal([409, "/problems/id-conflict"]);
  });
});
