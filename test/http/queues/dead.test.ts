import { expect } from "chai";
import { closedGate } from "../../helpers/gates.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";

const POST = { method: "POST" };

describe("dead letters over HTTP", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server.stop());

  const dead = async (queue: string) => (await server.send(`/v1/queues/${queue}`)).json.dead;

  it("are retried with 202, monitor document and Location, at the end of the line, with all attempts", async () => {
    const gates = [closedGate(), closedGate()];
    const [first, second] = gates;
    const id = await server.enqueue("gated", first?.input);
    await first?.entered;
    first?.break(new Error("the attempt is used up"));
    await server.until(id, "failed");
    expect(await dead("gated")).to.equal(1);
    const busy = await server.enqueue("gated", second?.input);
    await second?.entered;
    const ahead = await server.enqueue("gated", second?.input);

    const answer = await server.send(`/v1/requests/${id}/retry`, POST);
    expect(answer.status).to.equal(202);
    expect(answer.headers).to.include({
      location: `/v1/requests/${id}`,
      "operation-location": `${server.url}/v1/requests/${id}/status`,
      "x-task-state": "waiting",
      "x-queue-index": "1",
      "cache-control": "no-store",
    });
    expect(answer.json).to.include({ id, queue: "gated", state: "waiting", index: 1, attempt: 0, error: null });
    expect(await dead("gated")).to.equal(0);
    second?.open();
    for (const other of [busy, ahead]) await server.until(other, "succeeded");
    // Its gate is broken for ever: it dies again.
    await server.until(id, "failed");
    await server.send("/v1/queues/gated/dead", { method: "DELETE" });
  });

  it("answer 409 not-retryable if not dead, and 404 for an unknown id", async () => {
    const fine = await server.enqueue("default", 1);
    await server.until(fine, "succeeded");
    const gaveUp = await server.enqueue("giving-up", { status: 422, title: "No" });
    await server.until(gaveUp, "failed");
    const scheduled = await server.enqueue("default", 1, "?delay=3600");
    for (const [id, state] of [
      [fine, "succeeded"],
      [gaveUp, "failed"],
      [scheduled, "scheduled"],
    ]) {
      const answer = await server.send(`/v1/requests/${id}/retry`, POST);
      expect(answer.status).to.equal(409);
      expect(answer.json).to.include({ type: "/problems/not-retryable", status: 409, id, state });
    }
    for (const id of ["nobody", "not%20an%20id", ".."]) {
      const answer = await server.send(`/v1/requests/${id}/retry`, POST);
      expect(answer.status, id).to.equal(404);
    }
    expect((await server.send("/v1/requests/nobody/retry", POST)).json).to.include({
      type: "/problems/unknown",
      index: null,
    });
  });

  it("are retried or deleted for a whole queue, with the number of them", async () => {
    const ids = [];
    for (let i = 0; i < 3; i += 1) ids.push(await server.enqueue("failing", i));
    for (const id of ids) await server.until(id, "failed");
    expect(await dead("failing")).to.equal(3);
    const retried = await server.send("/v1/queues/failing/dead/retry", POST);
    expect([retried.status, retried.json]).to.deep.equal([200, { retried: 3 }]);
    for (const id of ids) await server.until(id, "failed");
    const deleted = await server.send("/v1/queues/failing/dead", { method: "DELETE" });
    expect([deleted.status, deleted.json]).to.deep.equal([200, { deleted: 3 }]);
    expect(await dead("failing")).to.equal(0);
    expect((await server.send(`/v1/requests/${ids[0]}`)).json).to.include({ type: "/problems/deleted", status: 410 });
    const none = await server.send("/v1/queues/failing/dead", { method: "DELETE" });
    expect([none.status, none.json]).to.deep.equal([200, { deleted: 0 }]);
  });

  it("are listed newest first on request, page by page while others die", async () => {
    const die = async (n: number) => {
      const id = await server.enqueue("failing", n);
      await server.until(id, "failed");
      return id;
    };
    const ids = [await die(1), await die(2), await die(3)];
    const page = async (query: string) => {
      const { json } = await server.send(`/v1/queues/failing/dead?limit=2${query}`);
      return { ids: json.items.map(({ id }: { id: string }) => id), next: json.next };
    };
    expect((await page("")).ids).to.deep.equal(ids.slice(0, 2));
    const first = await page("&order=newest");
    expect(first.ids).to.deep.equal([ids[2], ids[1]]);
    const late = await die(4);
    expect(await page(`&order=newest&cursor=${first.next}`)).to.deep.equal({ ids: [ids[0]], next: null });
    expect((await page("&order=newest")).ids).to.deep.equal([late, ids[2]]);
    const wrong = await server.send("/v1/queues/failing/dead?order=random");
    expect([wrong.status, wrong.json.parameter]).to.deep.equal([400, "order"]);
    await server.send("/v1/queues/failing/dead", { method: "DELETE" });
  });
});
