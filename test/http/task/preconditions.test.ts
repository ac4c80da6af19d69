import { expect } from "chai";
import { closedGate } from "../../helpers/gates.ts";
import { testKeys } from "../../helpers/http/api-keys.ts";
import { type Answer, type Sent, startServer, type TestServer } from "../../helpers/http/server.ts";

const ASYNC = { Prefer: "respond-async" };

/** RFC 9110 §13.1.1, §13.1.2, §13.2. */
describe("the conditions of a PUT or DELETE", () => {
  let server: TestServer;
  let ids = 0;
  before(async () => {
    server = await startServer();
  });
  after(() => server.stop());

  const send = (method: string, id: string, headers: Sent["headers"], body?: unknown, queue = "gated") =>
    server.send(method === "PUT" ? `/v1/queues/${queue}/requests/${id}` : `/v1/requests/${id}`, {
      method,
      headers: { ...ASYNC, ...headers },
      body,
    });
  const put = (id: string, input: unknown, headers: Sent["headers"] = {}, queue = "gated") =>
    send("PUT", id, headers, input, queue);
  const remove = (id: string, headers: Sent["headers"]) => send("DELETE", id, headers);
  const tagOf = async (id: string) => String((await server.send(`/v1/requests/${id}/status`)).headers.etag);
  const failed = (answer: Answer, id: string) => {
    expect(answer.status, answer.text).to.equal(412);
    expect(answer.json).to.include({ type: "/problems/precondition-failed", status: 412, id });
  };
  /** A task that waits behind one that runs. */
  const waiting = async () => {
    const gate = closedGate();
    const first = await server.enqueue("gated", gate.input);
    await gate.entered;
    ids += 1;
    const id = `waiting-${ids}`;
    expect((await put(id, { ...gate.input, n: 1 })).status).to.equal(202);
    const end = async () => {
      gate.open();
      await server.until(first, "succeeded");
    };
    return { id, input: (n: number) => ({ ...gate.input, n }), end };
  };

  it("If-None-Match: * creates a task and replaces none, whatever its input", async () => {
    const { id, input, end } = await waiting();
    for (const n of [1, 2]) failed(await put(id, input(n), { "If-None-Match": "*" }), id);
    failed(await put(id, input(1), { "If-None-Match": "*", "If-Match": "*" }), id);
    await end();
    expect((await server.until(id, "succeeded")).json.attempt).to.equal(1);
    failed(await put(id, input(1), { "If-None-Match": "*" }), id);
    expect((await put("made-once", 1, { "If-None-Match": "*" }, "default")).status).to.equal(202);
    failed(await put("made-once", 1, { "If-None-Match": "*" }, "default"), "made-once");
    // RFC 9110 §13.2.1: what is refused without conditions is refused for that.
    expect((await put("made-once", 1, { "If-None-Match": "*" }, "answers")).json.type).to.equal(
      "/problems/id-conflict",
    );
    expect((await put("tried?dryRun=true", 1, { "If-None-Match": "*" }, "default")).status).to.equal(200);
    failed(await put("made-once?dryRun=true", 1, { "If-None-Match": "*" }, "default"), "made-once");
  });

  it("If-None-Match: * lets exactly one of many concurrent requests create the task", async () => {
    for (let round = 0; round < 5; round += 1) {
      const id = `at-once-${round}`;
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, n) => put(id, { n }, { "If-None-Match": "*" }, "default")),
      );
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([202, ...Array(7).fill(412)]);
      const made = answers.findIndex(({ status }) => status === 202);
      await server.until(id, "succeeded");
      expect((await server.send(`/v1/requests/${id}`)).json.input).to.deep.equal({ n: made });
    }
  });

  it("If-Match: * requires an existing task", async () => {
    failed(await put("nobody-1", 1, { "If-Match": "*" }, "default"), "nobody-1");
    expect((await server.send("/v1/requests/nobody-1")).status).to.equal(404);
    // A DELETE of nothing is 404 without conditions, and so with them.
    expect((await remove("nobody-1", { "If-Match": "*" })).status).to.equal(404);
    const { id, input, end } = await waiting();
    expect((await put(id, input(2), { "If-Match": "*" })).status).to.equal(200);
    expect((await remove(id, { "If-Match": "*" })).status).to.equal(200);
    failed(await remove(id, { "If-Match": "*" }), id);
    await end();
  });

  it("If-Match requires the version of the monitor, which changes when the input is replaced", async () => {
    const { id, input, end } = await waiting();
    const tag = await tagOf(id);
    failed(await put(id, input(2), { "If-Match": '"other"' }), id);
    failed(await remove(id, { "If-Match": '"other", W/"another"' }), id);
    expect((await put(id, input(2), { "If-Match": `"other", ${tag}` })).status).to.equal(200);
    const newer = await tagOf(id);
    expect(newer).not.to.equal(tag);
    failed(await put(id, input(3), { "If-Match": tag }), id);
    failed(await remove(id, { "If-Match": tag }), id);
    // The same input again changes nothing.
    expect((await put(id, input(2), { "If-Match": newer })).status).to.equal(202);
    expect(await tagOf(id)).to.equal(newer);
    expect((await remove(id, { "If-Match": newer })).status).to.equal(200);
    await end();
  });

  it("If-Match lets one of two callers with the same version replace the input", async () => {
    const { id, input, end } = await waiting();
    for (let round = 0; round < 5; round += 1) {
      const tag = await tagOf(id);
      const inputs = [10 * round + 2, 10 * round + 3];
      const answers = await Promise.all(inputs.map((n) => put(id, input(n), { "If-Match": tag })));
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 412]);
    }
    await end();
    await server.until(id, "succeeded");
  });

  it("If-Match of a result compares strongly; DELETE deletes exactly that version", async () => {
    const id = await server.enqueue("default", 1);
    await server.until(id, "succeeded");
    const tag = String((await server.send(`/v1/requests/${id}`)).headers.etag);
    expect(tag).to.match(/^"/);
    failed(await remove(id, { "If-Match": `W/${tag}` }), id);
    failed(await remove(id, { "If-None-Match": `W/${tag}` }), id);
    failed(await remove(id, { "If-None-Match": "*" }), id);
    failed(await remove(id, { "If-Match": '"stale"' }), id);
    expect((await server.send(`/v1/requests/${id}`)).status).to.equal(200);
    expect((await remove(id, { "If-Match": tag, "If-None-Match": '"stale"' })).status).to.equal(204);
    expect((await server.send(`/v1/requests/${id}`)).status).to.equal(410);
  });

  it("apply to allocated ids, too", async () => {
    const { id } = (await server.send("/api/v1/task")).json;
    const at = `/api/v1/task/${id}`;
    const ask = (method: string, headers: Record<string, string>, body?: unknown) =>
      server.send(at, { method, headers, body });
    failed(await ask("PUT", { "If-Match": "*" }, 1), id);
    expect((await ask("PUT", { "If-None-Match": "*" }, 1)).status).to.equal(202);
    failed(await ask("PUT", { "If-None-Match": "*" }, 1), id);
    failed(await ask("DELETE", { "If-Match": '"other"' }), id);
    expect((await ask("DELETE", { "If-Match": "*" })).status).to.be.oneOf([202, 204]);
  });

  it("reveal nothing about another caller's task", async () => {
    const keys = testKeys({ ann: ["submit"], bob: ["submit"] });
    const guarded = await startServer(keys.env);
    const ask = (who: "ann" | "bob", method: string, headers: Record<string, string>, body?: unknown) =>
      guarded.send("/v1/requests/theirs", { method, headers: keys.as(who, { ...ASYNC, ...headers }), body });
    try {
      expect((await ask("ann", "PUT", {}, 1)).status).to.equal(202);
      for (const condition of [{ "If-None-Match": "*" }, { "If-Match": "*" }, { "If-Match": '"x"' }]) {
        const answer = await ask("bob", "PUT", condition, 1);
        expect([answer.status, answer.json.type]).to.deep.equal([409, "/problems/id-conflict"]);
        expect((await ask("bob", "DELETE", condition)).json.type).to.equal("/problems/unknown");
      }
    } finally {
      await guarded.stop();
    }
  });
});
