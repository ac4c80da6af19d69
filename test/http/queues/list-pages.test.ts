import { expect } from "chai";
import { giveUp } from "../../../src/handler/intents.ts";
import { closedGate } from "../../helpers/gates.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";

describe("the line of a queue over HTTP", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer({ PARTITIONS: "3" });
  });
  after(() => server.stop());

  /** All items of a list, page by page, with the number of each page. */
  const walk = async (path: string, limit: number) => {
    const items = [];
    const sizes = [];
    for (let cursor = ""; ; ) {
      const { status, json } = await server.send(`${path}?limit=${limit}${cursor}`);
      expect(status).to.equal(200);
      expect(json).to.have.all.keys("items", "next", "scanned");
      items.push(...json.items);
      sizes.push(json.items.length);
      if (json.next === null) return { items, sizes };
      cursor = `&cursor=${json.next}`;
    }
  };

  it("shows waiting and running tasks as monitor documents, in line order, page by page", async () => {
    const gate = closedGate();
    const running = await server.enqueue("gated", gate.input);
    await gate.entered;
    const ids: string[] = [];
    for (let i = 0; i < 11; i += 1) ids.push(await server.enqueue("gated", gate.input));
    const { items, sizes } = await walk("/v1/queues/gated/waiting", 4);
    expect(items.map(({ id }) => id)).to.deep.equal(ids);
    expect(items.map(({ index }) => index)).to.deep.equal(ids.map((_, i) => i));
    expect(sizes).to.deep.equal([4, 4, 3]);
    expect(items[0]).to.include({ queue: "gated", state: "waiting", status: "waiting" });
    expect((await server.send("/v1/queues/gated/waiting")).json.items).to.have.length(11);
    const list = (await server.send("/v1/queues/gated/running")).json;
    expect(list.items.map(({ id }: { id: string }) => id)).to.deep.equal([running]);
    expect(list.items[0]).to.include({ state: "running", index: 0, attempt: 1 });
    expect(list.next).to.equal(null);
    gate.open();
    await Promise.all(ids.map((id) => server.until(id, "succeeded")));
    expect((await server.send("/v1/queues/gated/waiting")).json).to.deep.equal({
      items: [],
      next: null,
      scanned: 0,
    });
  });

  it("shows dead tasks with the last errors of their attempts, oldest death first", async () => {
    const ids: string[] = [];
    for (let i = 0; i < 3; i += 1) {
      const id = await server.enqueue("failing", i);
      await server.until(id, "failed");
      ids.push(id);
    }
    const { items } = await walk("/v1/queues/failing/dead", 2);
    expect(items.map(({ id }) => id)).to.deep.equal(ids);
    for (const item of items) {
      expect(item.state).to.equal("failed");
      expect(item.error.code).to.equal("task-failed");
      expect(item.errors).to.have.length(1);
      expect(item.errors[0]).to.be.a("string");
    }
  });

  it("shows the latest outcomes, newest first, page by page", async () => {
    const gate = closedGate();
    const canceled = await server.enqueue("gated-too", gate.input, "?delay=3600");
    await server.send(`/v1/requests/${canceled}`, { method: "DELETE" });
    const done = await server.enqueue("gated-too", gate.input);
    gate.open("well");
    await server.until(done, "succeeded");
    const broken = closedGate();
    const failed = await server.enqueue("gated-too", broken.input);
    await broken.entered;
    broken.break(giveUp({ status: 422, title: "No use" }));
    await server.until(failed, "failed");
    const { items, sizes } = await walk("/v1/queues/gated-too/finished", 2);
    expect(items.map(({ id, state }) => [id, state])).to.deep.equal([
      [failed, "failed"],
      [done, "succeeded"],
      [canceled, "canceled"],
    ]);
    expect(sizes).to.deep.equal([2, 1]);
    expect(items[0].error).to.include({ message: "No use" });
    await server.send(`/v1/requests/${done}`, { method: "DELETE" });
    expect((await walk("/v1/queues/gated-too/finished", 1)).items.map(({ id }) => id)).to.deep.equal([
      failed,
      canceled,
    ]);
  });

  it("refuses an invalid limit or cursor, and names it", async () => {
    const bad = ["limit=0", "limit=201", "limit=x", "limit=-1", "limit=1.5", "limit=1&limit=2", "limit="];
    const cursors = ["", "x", "!!", "LWluZiA", Buffer.from("1 ").toString("base64url"), `${cursor("1 a")}=`];
    for (const score of ["-inf a", "1e5 a", "(1 a", " a", "1  a", "1 a b", "nan a"]) cursors.push(cursor(score));
    const queries: [string, string][] = [
      ...bad.map((query): [string, string] => [query, "limit"]),
      ...cursors.map((value): [string, string] => [`cursor=${value}`, "cursor"]),
      [`cursor=${cursor("1 a")}&cursor=${cursor("1 a")}`, "cursor"],
    ];
    for (const [query, parameter] of queries) {
      const answer = await server.send(`/v1/queues/default/waiting?${query}`);
      expect(answer.status, query).to.equal(400);
      expect(answer.json, query).to.include({ type: "/problems/invalid-parameter", parameter });
    }
    expect((await server.send(`/v1/queues/default/waiting?cursor=${cursor("1 a")}`)).status).to.equal(200);
    expect((await server.send("/v1/queues/nowhere/waiting")).json.type).to.equal("/problems/unknown-queue");
  });
});

/** A cursor of this text. */
function cursor(text: string): string {
  return Buffer.from(text).toString("base64url");
}
