import { expect } from "chai";
import { testKeys } from "../../helpers/http/api-keys.ts";
import { type Answer, startServer, type TestServer } from "../../helpers/http/server.ts";

const keys = testKeys({ shop: ["submit"], other: ["submit"], boss: ["admin"] });
type Caller = "shop" | "other" | "boss";

describe("moving a task that waits", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer({ ...keys.env, ROLE: "api", PARTITIONS: "3" });
  });
  after(() => server.stop());

  /** Submits tasks to a queue, in their order. */
  async function line(queue: string, inputs: readonly unknown[], search = ""): Promise<string[]> {
    const ids: string[] = [];
    for (const body of inputs) {
      const headers = keys.as("shop", { Prefer: "respond-async" });
      const answer = await server.send(`/v1/queues/${queue}/requests${search}`, { method: "POST", headers, body });
      ids.push(String(answer.headers["x-request-id"]));
    }
    return ids;
  }
  const move = (id: string | undefined, body: unknown, as: Caller = "boss"): Promise<Answer> =>
    server.send(`/v1/requests/${id}`, { method: "PATCH", headers: keys.as(as), body });
  const status = async (id: string | undefined) =>
    (await server.send(`/v1/requests/${id}/status`, { headers: keys.as("boss") })).json;
  /** The line as its list shows it; each index must agree. */
  async function order(queue: string, ids: readonly string[]): Promise<number[]> {
    const { items } = (await server.send(`/v1/queues/${queue}/waiting`, { headers: keys.as("boss") })).json;
    for (const [n, { id }] of items.entries()) expect((await status(id)).index, `index of ${id}`).to.equal(n);
    return items.map(({ id }: { id: string }) => ids.indexOf(id));
  }

  it("brings it to the start of the line and to its end, past others of any priority, and keeps their order", async () => {
    const ids = await line("gated", [0, 1, 2, 3, 4, 5]);
    await move(ids[1], { priority: 0 });
    await move(ids[4], { priority: 7 });
    const first = await move(ids[3], { place: "first" });
    expect([first.status, first.json.index, first.headers["cache-control"]]).to.deep.equal([200, 0, "no-store"]);
    expect(await order("gated", ids)).to.deep.equal([3, 1, 0, 2, 5, 4]);
    const last = await move(ids[1], { place: "last" });
    expect([last.status, last.json.index]).to.deep.equal([200, 5]);
    await move(ids[5], { place: "first" });
    await move(ids[5], { place: "first" });
    expect(await order("gated", ids)).to.deep.equal([5, 3, 0, 2, 4, 1]);
    // Its arrival stays: with its old priority again it is where it was.
    await move(ids[3], { priority: 3 });
    expect(await order("gated", ids)).to.deep.equal([5, 0, 2, 3, 4, 1]);
    for (const id of ids) await server.send(`/v1/requests/${id}`, { method: "DELETE", headers: keys.as("boss") });
  });

  it("gives it another time: it leaves the line until then, and joins it at its end", async () => {
    const ids = await line("gated-too", [0, 1, 2]);
    const later = await move(ids[0], { delay: 3600 }, "shop");
    expect([later.status, later.json.state, later.json.index]).to.deep.equal([200, "scheduled", null]);
    expect(await order("gated-too", ids)).to.deep.equal([1, 2]);
    const now = await move(ids[0], { notBefore: "2020-01-01T00:00:00Z" }, "shop");
    expect(now.status).to.equal(200);
    expect((await server.until(ids[0] ?? "", "waiting", keys.as("boss"))).json.index).to.equal(2);
    expect((await move(ids[0], { delay: 0 }, "shop")).json.index, "already in line").to.equal(2);
  });
});

describe("a move that is refused", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer({ ...keys.env, ROLE: "api" });
  });
  after(() => server.stop());

  async function submit(queue: string, body: unknown, search = ""): Promise<string> {
    const headers = keys.as("shop", { Prefer: "respond-async" });
    const answer = await server.send(`/v1/queues/${queue}/requests${search}`, { method: "POST", headers, body });
    expect(answer.status).to.equal(202);
    return String(answer.headers["x-request-id"]);
  }
  const move = (id: string, body: unknown, as: Caller = "boss"): Promise<Answer> =>
    server.send(`/v1/requests/${id}`, { method: "PATCH", headers: keys.as(as), body });

  it("is one up the line by its caller, or any by another", async () => {
    const id = await submit("gated", 1);
    for (const body of [{ priority: 2 }, { place: "first" }, { place: "last" }]) {
      const answer = await move(id, body, "shop");
      expect([answer.status, answer.json.type], JSON.stringify(body)).to.deep.equal([403, "/problems/forbidden"]);
    }
    for (const priority of [3, 5]) expect((await move(id, { priority }, "shop")).status).to.equal(200);
    expect((await move(id, { priority: 4 }, "shop")).status, "up again").to.equal(403);
    const unknown = await move(id, { priority: 7 }, "other");
    expect([unknown.status, unknown.json.type]).to.deep.equal([404, "/problems/unknown"]);
    expect((await move(id, { priority: 0 })).status).to.equal(200);
  });

  it("is one of a task that does not wait: 409 not-waiting with its state", async () => {
    const scheduled = await submit("gated", 1, "?delay=3600");
    const canceled = await submit("gated", 1);
    await server.send(`/v1/requests/${canceled}`, { method: "DELETE", headers: keys.as("shop") });
    for (const [id, body, state] of [
      [scheduled, { place: "first" }, "scheduled"],
      [canceled, { priority: 7 }, "canceled"],
      [canceled, { delay: 5 }, "canceled"],
    ] as const) {
      const { status, json } = await move(id, body);
      expect([status, json.type, json.id, json.state]).to.deep.equal([409, "/problems/not-waiting", id, state]);
    }
  });

  it("is one of a place or time in a fair or keyed line, which may change the priority", async () => {
    const fair = await submit("fair-callers", 1);
    const keyed = await submit("keyed", { account: "a" });
    for (const id of [fair, keyed]) {
      for (const body of [{ place: "first" }, { delay: 10 }]) {
        const { status, json } = await move(id, body);
        expect([status, json.parameter]).to.deep.equal([400, Object.keys(body)[0]]);
        expect(json.detail).to.include("fair or keyed");
      }
      const { status, json } = await move(id, { priority: 7 });
      expect([status, json.index]).to.deep.equal([200, 0]);
    }
  });

  it("is one behind the deadline of the task", async () => {
    const id = await submit("gated", 1, "?deadline=60");
    const { status, json } = await move(id, { delay: 61 });
    expect([status, json.type, json.parameter]).to.deep.equal([400, "/problems/invalid-parameter", "delay"]);
    expect((await move(id, { delay: 30 })).json.state).to.equal("scheduled");
  });

  it("is one whose body says nothing, two things, or something else", async () => {
    const id = await submit("gated", 1);
    for (const body of [
      ...[{}, { priority: 1, place: "first" }, { priority: 8 }, { priority: -1 }, { priority: 1.5 }, { priority: "1" }],
      ...[
        { place: "second" },
        { delay: -1 },
        { delay: 1e12 },
        { notBefore: "soon" },
        { notBefore: "2030-02-30T00:00:00Z" },
      ],
      ...[{ index: 3 }, [], "first", null, { 优先: 1 }],
    ]) {
      const answer = await move(id, JSON.stringify(body));
      expect([answer.status, answer.json.type], JSON.stringify(body)).to.deep.equal([400, "/problems/invalid-input"]);
    }
    expect((await move(id, "{")).json.type).to.equal("/problems/malformed-json");
    expect((await move("no-such-task", { priority: 1 })).status).to.equal(404);
  });

  it("is not logged; the others are, with who moved what", async () => {
    const id = await submit("gated", 1);
    await move(id, { place: "first" }, "shop");
    await move(id, { place: "first" });
    const lines = server.log.filter(({ audit, id: of }) => audit === "move" && of === id);
    expect(lines.map(({ by, queue, to }) => ({ by, queue, to }))).to.deep.equal([
      { by: "boss", queue: "gated", to: { place: "first" } },
    ]);
  });
});
