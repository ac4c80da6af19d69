import { expect } from "chai";
import { defineHandler } from "../../../src/handler/define.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";
import { openWorkshop } from "../../helpers/workshop.ts";

/** A worker that is nothing but an HTTP client; the server runs no handlers itself. */
describe("a worker over HTTP", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer({ ROLE: "api" });
  });
  after(() => server.stop());

  const take = (body: unknown = {}, wait = 0, queue = "default") =>
    server.send(`/v1/queues/${queue}/leases`, { method: "POST", body, headers: { Prefer: `wait=${wait}` } });
  const say = (id: string, verb: string, body: unknown) =>
    server.send(`/v1/leases/${id}/${verb}`, { method: "POST", body });

  it("reserves tasks with fence and lease, reports progress, and completes them", async () => {
    const id = await server.enqueue("default", { text: "ünï" }, "?size=3");
    const taken = await take({ worker: "ada", count: 5 });
    expect(taken.status).to.equal(200);
    const [lease] = taken.json.items;
    expect(taken.json.items).to.have.length(1);
    expect(lease).to.include({ id, queue: "default", attempt: 1, mediaType: "application/json", leaseSeconds: 15 });
    expect(lease.input).to.deep.equal({ text: "ünï" });
    expect(lease.query).to.deep.equal({ size: "3" });
    expect((await say(id, "progress", { fence: lease.fence, percent: 40, message: "half" })).status).to.equal(204);
    const seen = await server.send(`/v1/requests/${id}/status`);
    expect(seen.json.progress).to.deep.equal({ percent: 40, message: "half", estimated: false });
    expect((await say(id, "renew", { fence: lease.fence, lease: 60 })).json).to.deep.equal({
      id,
      cancelRequested: false,
      reason: null,
      leaseSeconds: 60,
    });
    expect((await say(id, "complete", { fence: lease.fence, result: { ok: true } })).json.verdict).to.equal("done");
    expect((await say(id, "complete", { fence: lease.fence, result: { ok: true } })).json.verdict).to.equal("already");
    expect((await server.send(`/v1/requests/${id}`)).json).to.deep.equal({ ok: true });
  });

  it("completes with bytes, a status and a content type", async () => {
    const id = await server.enqueue("default", {});
    const [lease] = (await take()).json.items;
    const body = Buffer.from([0, 255, 1]).toString("base64");
    await say(id, "complete", { fence: lease.fence, body, contentType: "image/x-test", status: 201 });
    const result = await server.send(`/v1/requests/${id}`);
    expect(result.status).to.equal(201);
    expect(result.headers["content-type"]).to.equal("image/x-test");
    expect(result.body.equals(Buffer.from([0, 255, 1]))).to.equal(true);
  });

  it("gets 400 for a content type that is not valid in a header, and keeps its lease", async () => {
    const id = await server.enqueue("default", {});
    const [lease] = (await take()).json.items;
    const unfit = ["text/html\r\nX-Evil: 1", "text/排", "", "text", "text/", "/html", "text/html x", "a/b;c=d\0"];
    // White space that could be split in many ways must not take long to refuse.
    for (const contentType of [...unfit, `a/b${"; \t ".repeat(48)}!`]) {
      const refused = await say(id, "complete", { fence: lease.fence, body: "YQ==", contentType });
      expect(refused.status, contentType).to.equal(400);
      expect(refused.json.type).to.equal("/problems/invalid-input");
      expect(refused.json.errors[0].pointer).to.equal("#/contentType");
    }
    const contentType = 'text/html; charset="utf-8" ;x=y';
    await say(id, "complete", { fence: lease.fence, body: "YQ==", contentType });
    expect((await server.send(`/v1/requests/${id}`)).headers["content-type"]).to.equal(contentType);
  });

  it("cannot store a result that can never be collected: with such a type, it is served as bytes", async () => {
    const id = await server.enqueue("default", {});
    const [lease] = (await take()).json.items;
    const shop = await openWorkshop([defineHandler({ queue: "default", run: () => null })], { prefix: server.prefix });
    const { engine } = shop;
    const headers = { "x-fit": "yes", "x-evil": "1\r\nX-Worse: 1", "b ad": "1", "x-名": "1" };
    const result = { status: 200, contentType: "text/排", headers, body: Buffer.from("made") };
    const stored = { queue: "default", id, fence: String(lease.fence) };
    expect(await engine.leases.complete(stored, result, engine.queues.settings("default"))).to.equal("done");
    const answer = await server.send(`/v1/requests/${id}`);
    expect([answer.status, answer.text]).to.deep.equal([200, "made"]);
    expect(answer.headers).to.include({ "content-type": "application/octet-stream", "x-fit": "yes" });
    expect(answer.headers).to.not.have.any.keys("x-evil", "x-worse");
    await shop.close();
  });

  it("waits for work, and gets 204 if none arrives", async () => {
    expect((await take({}, 0)).status).to.equal(204);
    const waiting = take({ worker: "bob" }, 20);
    const id = await server.enqueue("default", {});
    const [lease] = (await waiting).json.items;
    expect(lease.id).to.equal(id);
    await say(id, "complete", { fence: lease.fence });
    expect((await server.send(`/v1/requests/${id}`)).status).to.equal(204);
  });

  it("fails an attempt, retries later, or gives up with a problem", async () => {
    const id = await server.enqueue("default", {});
    const [first] = (await take()).json.items;
    expect((await say(id, "fail", { fence: first.fence, after: 0 })).json.verdict).to.equal("retrying");
    await server.until(id, "waiting");
    const [second] = (await take()).json.items;
    expect(second.attempt).to.equal(1);
    const giveUp = { status: 422, title: "Not an image", hint: 7 };
    expect((await say(id, "fail", { fence: second.fence, giveUp })).json.verdict).to.equal("failed");
    const answer = await server.send(`/v1/requests/${id}`);
    expect(answer.status).to.equal(422);
    expect(answer.json).to.include({ title: "Not an image", hint: 7, status: 422, id });
  });

  it("fails its last attempt with the same problem as a handler of the server's own", async () => {
    const id = await server.enqueue("default", {});
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      await server.until(id, "waiting");
      const [lease] = (await take()).json.items;
      await say(id, "fail", { fence: lease.fence, error: "secret" });
    }
    const answer = await server.send(`/v1/requests/${id}`);
    expect(answer.json).to.include({
      type: "/problems/task-failed",
      detail: "The handler failed in each of 3 attempts.",
    });
  });

  it("fails with task-timeout if its last attempt took too long", async () => {
    const id = await server.enqueue("default", {});
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      await server.until(id, "waiting");
      const [lease] = (await take()).json.items;
      const { verdict } = (await say(id, "fail", { fence: lease.fence, timeout: 1.5, error: "too long" })).json;
      expect(verdict).to.equal(attempt < 3 ? "retrying" : "dead");
    }
    const answer = await server.send(`/v1/requests/${id}`);
    expect(answer.json).to.include({ type: "/problems/task-timeout", detail: "The handler took longer than 1500 ms." });
  });

  it("learns of a cancel when it renews; a lost lease is 410 invalid-task", async () => {
    const id = await server.enqueue("default", {});
    const [lease] = (await take()).json.items;
    expect((await server.send(`/v1/requests/${id}`, { method: "DELETE" })).status).to.equal(202);
    expect((await say(id, "renew", { fence: lease.fence })).json).to.include({
      cancelRequested: true,
      reason: "canceled",
    });
    expect((await say(id, "complete", { fence: lease.fence, result: 1 })).json.verdict).to.equal("canceled");
    const stale = await say(id, "renew", { fence: lease.fence });
    expect(stale.status).to.equal(410);
    expect(stale.json).to.include({ type: "/problems/invalid-task", reason: "lease-lost" });
  });

  it("gets a problem that names what is wrong with its request", async () => {
    const wrong = await take({ count: 1000 });
    expect(wrong.status).to.equal(400);
    expect(wrong.json.errors[0].pointer).to.equal("#/count");
    expect((await take({}, 0, "nowhere")).json.type).to.equal("/problems/unknown-queue");
    expect((await take({ count: 64, fill: "2m" })).json.errors[0].pointer).to.equal("#/fill");
    for (const [verb, more] of Object.entries({ renew: {}, progress: { percent: 1 }, complete: {}, fail: {} })) {
      expect((await say("nobody", verb, { fence: 1, ...more })).json.type, verb).to.equal("/problems/unknown");
      expect((await say("nobody", verb, more)).json.errors[0].pointer, verb).to.equal("#/fence");
    }
    expect((await say("nobody", "progress", { fence: 1, percent: 101 })).json.errors[0].pointer).to.equal("#/percent");
    expect((await say("nobody", "output", { fence: 1, data: "word" })).json.errors[0].pointer).to.equal("#/data");
    expect((await say("nobody", "complete", { fence: 1, result: 1, body: "AA==" })).status).to.equal(400);
  });

  it("can only give up with problem members of the types in RFC 9457", async () => {
    const id = await server.enqueue("default", {});
    const [lease] = (await take()).json.items;
    const wrong: [unknown, string][] = [
      [{ detail: { toString: 1 } }, "#/giveUp/detail"],
      [{ title: ["x"] }, "#/giveUp/title"],
      [{ type: 7 }, "#/giveUp/type"],
      [{ status: 200 }, "#/giveUp/status"],
      [{ status: "422" }, "#/giveUp/status"],
    ];
    for (const [giveUp, pointer] of wrong) {
      const refused = await say(id, "fail", { fence: lease.fence, giveUp });
      expect([refused.status, refused.json.type], pointer).to.deep.equal([400, "/problems/invalid-input"]);
      expect(refused.json.errors[0].pointer).to.equal(pointer);
    }
    expect((await say(id, "fail", { fence: lease.fence, giveUp: {} })).json.verdict).to.equal("failed");
    expect((await server.send(`/v1/requests/${id}/status`)).json.error.message).to.equal("The task failed");
  });

  it("gets 413 for a result or problem above MAX_RESULT, and keeps its lease", async () => {
    const bounded = await startServer({ ROLE: "api", MAX_RESULT: "1kb" });
    try {
      const id = await bounded.enqueue("default", {});
      const post = (at: string, body: unknown) => bounded.send(at, { method: "POST", body });
      const [{ fence }] = (await post("/v1/queues/default/leases", {})).json.items;
      const long = "x".repeat(1100);
      const sizes = [
        ["complete", { fence, result: long }],
        ["fail", { fence, giveUp: { detail: long } }],
      ] as const;
      for (const [verb, body] of sizes) {
        const refused = await post(`/v1/leases/${id}/${verb}`, body);
        expect([refused.status, refused.json.type], verb).to.deep.equal([413, "/problems/payload-too-large"]);
        expect(refused.json.detail).to.contain("MAX_RESULT");
      }
      const shorter = { fence, giveUp: { detail: "too long to say" } };
      expect((await post(`/v1/leases/${id}/fail`, shorter)).json.verdict).to.equal("failed");
    } finally {
      await bounded.stop();
    }
  });

  it("gets the same answer to a repeated failure", async () => {
    for (const [body, verdict] of [
      [{}, "retrying"],
      [{ giveUp: { status: 422 } }, "failed"],
    ] as const) {
      const id = await server.enqueue("default", {});
      const lease = (await take({ count: 10 })).json.items.find((item: { id: string }) => item.id === id);
      for (let n = 0; n < 2; n += 1) {
        const said = await say(id, "fail", { fence: lease.fence, ...body });
        expect([said.status, said.json.verdict]).to.deep.equal([200, verdict]);
      }
      await server.send(`/v1/requests/${id}`, { method: "DELETE" });
    }
  });

  it("keeps the length of its lease if it renews without stating one", async () => {
    const id = await server.enqueue("default", {});
    const [lease] = (await take({ lease: 600 })).json.items;
    const renewed = await say(id, "renew", { fence: lease.fence });
    expect(renewed.json).to.include({ id, leaseSeconds: 600 });
    expect((await say(id, "renew", { fence: lease.fence, lease: 30 })).json.leaseSeconds).to.equal(30);
    expect((await say(id, "renew", { fence: lease.fence })).json.leaseSeconds).to.equal(600);
    await say(id, "complete", { fence: lease.fence });
  });

  it("gets the same tasks again with the same X-Request-Id, and other tasks with another", async () => {
    const headers = (id: string) => ({ Prefer: "wait=0", "X-Request-Id": id });
    const ask = async (id: string) =>
      (await server.send("/v1/queues/default/leases", { method: "POST", body: { count: 2 }, headers: headers(id) }))
        .json.items;
    for (let n = 0; n < 4; n += 1) await server.enqueue("default", { n });
    const [one, two] = [await ask("lost-1"), await ask("lost-2")];
    expect(await ask("lost-1")).to.deep.equal(one);
    expect(await ask("lost-2")).to.deep.equal(two);
    expect(one).to.have.length(2);
    for (const { id, fence } of [...one, ...two]) await say(id, "complete", { fence });
  });

  it("counts as a worker of the queue while it requests work", async () => {
    await take({ worker: "carol", count: 7 }, 0, "checked");
    const queue = (await server.send("/v1/queues/checked")).json;
    expect(queue).to.include({ workers: 1, slots: 7 });
    // One that fills its requests has one slot for the tasks of each.
    await take({ worker: "filler", count: 64, fill: "10ms" }, 0, "checked");
    expect((await server.send("/v1/queues/checked")).json).to.include({ workers: 2, slots: 8 });
  });
});
