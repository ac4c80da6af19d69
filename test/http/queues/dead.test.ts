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

  it("are grouped by error, the most frequent first, and listed, retried and deleted by one", async () => {
    /** Lets tasks die of an error; returns their ids. */
    const die = async (message: string, number: number) => {
      const gate = closedGate();
      gate.break(new Error(message));
      const ids = [];
      for (let n = 0; n < number; n += 1) ids.push(await server.enqueue("gated", gate.input));
      for (const id of ids) await server.until(id, "failed");
      return ids;
    };
    const [once] = await die("", 1);
    const many = await die(`no room: ${"é".repeat(200)}\nat the inn`, 3);
    const few = await die('no "luck"\tat all', 2);
    const groups = async () => (await server.send("/v1/queues/gated/dead/errors")).json;
    const { items, others } = await groups();
    const told = items.map(({ message, count }: { message: string; count: number }) => [message, count]);
    const cut = `no room: ${"é".repeat(95)}`;
    expect(told).to.deep.equal([
      [cut, 3],
      ['no "luck" at all', 2],
      ["Error without a message", 1],
    ]);
    expect(others).to.equal(0);
    const endOf = async (id = "") => (await server.send(`/v1/requests/${id}/status`)).json.finishedAt;
    expect(items[0]).to.include({ error: `task-failed: ${cut}`, code: "task-failed", retryable: 3 });
    expect([items[0].firstAt, items[0].lastAt]).to.deep.equal([await endOf(many[0]), await endOf(many[2])]);
    const idsOf = async (error: string) =>
      (await server.send(`/v1/queues/gated/dead?error=${encodeURIComponent(error)}`)).json.items.map(
        ({ id }: { id: string }) => id,
      );
    expect(await idsOf(items[0].error)).to.deep.equal(many);
    expect(await idsOf("task-failed: no")).to.deep.equal([]);
    const bulk = async (action: string, error: string) => {
      const body = { action, list: "dead", error };
      const { json } = await server.send("/v1/queues/gated/bulk", { ...POST, body });
      return [json.matched, json.done];
    };
    expect(await bulk("delete", items[0].error)).to.deep.equal([3, 3]);
    expect(await bulk("retry", items[1].error)).to.deep.equal([2, 2]);
    // They die again, of the same.
    for (const id of few) await server.until(id, "failed");
    expect((await groups()).items.map(({ count }: { count: number }) => count)).to.deep.equal([2, 1]);
    expect(await idsOf(items[2].error)).to.deep.equal([once]);
    const wrong = await server.send("/v1/queues/gated/dead?error=");
    expect([wrong.status, wrong.json.parameter]).to.deep.equal([400, "error"]);
    await server.send("/v1/queues/gated/dead", { method: "DELETE" });
  });

  describe("show no secrets of an error, neither by form nor those of the settings, wherever they show it", () => {
    const URL_SIGNING_KEY = "a signing key of hunter2";
    const message = `redis://app:hunter2@h:6379/ refused Bearer hunter2hunter2, ${URL_SIGNING_KEY}`;
    const masked = "redis://app:***@h:6379/ refused Bearer ***, ***";
    /** How a task of `gated` dies of that message. */
    const ways: Readonly<Record<string, (own: TestServer) => Promise<string>>> = {
      all: async (own) => {
        const gate = closedGate();
        gate.break(new Error(message, { cause: new Error(message) }));
        return await own.enqueue("gated", gate.input);
      },
      api: async (own) => {
        const id = await own.enqueue("gated", {});
        const [{ fence }] = (await own.send("/v1/queues/gated/leases", { ...POST, body: {} })).json.items;
        await own.send(`/v1/leases/${id}/fail`, { ...POST, body: { fence, error: message } });
        return id;
      },
    };
    for (const [ROLE, die] of Object.entries(ways)) {
      it(ROLE === "api" ? "that a worker over HTTP reports" : "that a handler throws", async () => {
        const own = await startServer({ URL_SIGNING_KEY, SHOW_STACKS: "true", ROLE });
        try {
          const id = await die(own);
          await own.until(id, "failed");
          const timeline = await own.send(`/v1/requests/${id}/timeline`);
          expect(timeline.json.attempts[0].error).to.equal(masked);
          const listed = await own.send("/v1/queues/gated/dead");
          expect(listed.json.items[0].errors).to.deep.equal([masked]);
          const errors = await own.send("/v1/queues/gated/dead/errors");
          expect(errors.json.items[0].message).to.equal(masked);
          const shown = [timeline, listed, errors, await own.send(`/v1/requests/${id}`)];
          for (const { text } of shown) expect(text).to.not.contain("hunter2");
          expect(JSON.stringify(own.log)).to.not.contain("hunter2");
        } finally {
          await own.stop();
        }
      });
    }
  });
});
