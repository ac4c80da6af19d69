import { expect } from "chai";
import type { Handler } from "../../../src/handler/define.ts";
import { defineTurns, type TurnsOptions } from "../../../src/handler/turns.ts";
import type { Answer } from "../../helpers/http/answer.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";
import { eventually } from "../../shared/eventually.ts";

const ASYNC = { Prefer: "respond-async" };

describe("turns over HTTP", () => {
  let server: TestServer;
  const queues: readonly TurnsOptions[] = [
    { queue: "gpu", label: () => "training" },
    { queue: "desks", slots: 2 },
    { queue: "brief", longest: "1s" },
    { queue: "shared", fair: { by: (_, { query }) => query.who ?? "" } },
    { queue: "pairs", slots: 5, keyed: { by: (_, { query }) => query.who ?? null } },
  ];
  before(async () => {
    const handlers = queues.map((options) => defineTurns(options) as Handler);
    server = await startServer({}, { handlers: new Map(handlers.map((handler) => [handler.queue, handler])) });
  });
  after(() => server.stop());

  const submit = (queue: string, search = "", headers: Record<string, string> = {}) =>
    server.send(`/v1/queues/${queue}/requests${search}`, { method: "POST", headers });
  const wait = async (queue: string, search = ""): Promise<string> => {
    const answer = await submit(queue, search, ASYNC);
    expect(answer.status, answer.text).to.equal(202);
    return String(answer.headers["x-request-id"]);
  };
  const look = (id: string) => server.send(`/v1/requests/${id}`);
  const done = (id: string, body?: unknown, search = "") =>
    server.send(`/v1/requests/${id}/done${search}`, { method: "POST", ...(body !== undefined && { body }) });
  const giveUp = (id: string) => server.send(`/v1/requests/${id}`, { method: "DELETE" });
  const linkOf = (answer: Answer, rel: string) =>
    answer.json.links.find((link: { rel: string }) => link.rel === rel)?.href as string | undefined;
  const freed = async (...ids: string[]) => {
    for (const id of ids) await giveUp(id);
  };

  it("answer a submission without a body when it is one's turn, with the document of the turn", async () => {
    const answer = await submit("gpu");
    expect(answer.status, answer.text).to.equal(200);
    expect(answer.headers).to.include({ "cache-control": "no-store", presence: "30", "retry-after": "10" });
    expect(answer.json).to.include({ queue: "gpu", state: "running", label: "training" });
    const { since, until, endsAt, fence } = answer.json.turn;
    expect(Date.parse(until) - Date.parse(since)).to.be.within(28_000, 32_000);
    expect(endsAt).to.equal(null);
    expect(fence).to.be.above(0);
    expect(linkOf(answer, "done")).to.equal(`/v1/requests/${answer.json.id}/done?turn=${fence}`);
    await freed(answer.json.id);
  });

  it("are called in order, each when the one before is done, with rising fences", async () => {
    const first = await wait("gpu");
    const others = [await wait("gpu"), await wait("gpu")] as const;
    const pending = await look(others[1]);
    expect(pending.status).to.equal(404);
    expect(pending.json).to.include({ state: "waiting", index: 1 });
    const fences: number[] = [];
    for (const id of [first, ...others]) {
      const turn = await look(id);
      expect(turn.status, turn.text).to.equal(200);
      fences.push(turn.json.turn.fence);
      expect(turn.json.progress, "estimated of no turn").to.equal(null);
      expect((await done(id)).json).to.include({ state: "succeeded" });
    }
    expect(fences).to.deep.equal([...fences].sort((a, b) => a - b));
    expect(new Set(fences).size).to.equal(3);
  });

  it("answer a waiting submission as soon as the turn before is over", async () => {
    const holder = await wait("gpu");
    const waiting = submit("gpu");
    await eventually(async () => (await server.send("/v1/queues/gpu")).json.waiting === 1);
    await done(holder);
    const called = await waiting;
    expect(called.status, called.text).to.equal(200);
    expect(called.json.state).to.equal("running");
    await freed(called.json.id);
  });

  it("are taken as many at once as there are slots", async () => {
    const ids = [await wait("desks"), await wait("desks"), await wait("desks")];
    const states = await Promise.all(ids.map(async (id) => (await look(id)).json.state));
    expect(states).to.deep.equal(["running", "running", "waiting"]);
    expect((await server.send("/v1/queues/desks")).json).to.deep.include({
      ...{ running: 2, waiting: 1, slots: 2, workers: 0, turns: { longest: null, door: false } },
    });
    await freed(...ids);
  });

  it("leave what they are done with, or nothing", async () => {
    const [left, nothing] = [await wait("gpu"), await wait("gpu")];
    await done(left, { sum: 42 });
    const result = await look(left);
    expect([result.status, result.json]).to.deep.equal([200, { sum: 42 }]);
    await done(nothing);
    expect((await look(nothing)).status).to.equal(204);
  });

  it("are done once: the same body again is the same, another one or another turn is refused", async () => {
    const id = await wait("gpu");
    const { fence } = (await look(id)).json.turn;
    expect((await done(id, { a: 1 }, `?turn=${fence + 1}`)).json).to.include({ type: "/problems/not-running" });
    expect((await done(id, { a: 1 }, "?turn=x")).status).to.equal(400);
    expect((await done(id, "{", "")).status).to.equal(400);
    expect((await done(id, { a: 1 }, `?turn=${fence}`)).status).to.equal(200);
    const again = await done(id, { a: 1 }, `?turn=${fence}`);
    expect([again.status, again.json.state]).to.deep.equal([200, "succeeded"]);
    expect((await done(id, { a: 2 })).status).to.equal(409);
    expect((await done(id)).status).to.equal(409);
  });

  it("cannot be done before they are called, after they are given up, or where a handler runs the task", async () => {
    const [holder, waiting] = [await wait("gpu"), await wait("gpu")];
    expect((await done(waiting)).json).to.include({ status: 409, state: "waiting" });
    const given = await giveUp(holder);
    expect([given.status, given.json.state]).to.deep.equal([200, "canceled"]);
    expect((await done(holder)).json).to.include({ status: 409, state: "canceled" });
    expect((await look(waiting)).status).to.equal(200);
    await freed(waiting);
    expect((await done("unknown")).status).to.equal(404);
  });

  it("end when they have lasted as long as they may: failed, not dead, and the next one is called", async () => {
    const [first, second] = [await wait("brief"), await wait("brief")];
    const { since, endsAt } = (await look(first)).json.turn;
    expect(Date.parse(endsAt) - Date.parse(since)).to.equal(1000);
    await server.until(first, "failed");
    expect((await look(first)).json).to.include({ type: "/problems/task-timeout", status: 500 });
    expect((await server.send("/v1/queues/brief")).json.dead).to.equal(0);
    expect((await server.send(`/v1/requests/${first}/retry`, { method: "POST" })).status).to.equal(409);
    expect((await done(first)).status).to.equal(409);
    await freed(second);
  });

  it("are given up by a deadline", async () => {
    const [first, second] = [await wait("gpu", "?deadline=1"), await wait("gpu")];
    await server.until(first, "canceled");
    expect((await look(first)).json).to.include({ status: 410, reason: "deadline" });
    expect((await look(second)).status).to.equal(200);
    await freed(second);
  });

  it("wait until a time that they name", async () => {
    const id = await wait("gpu", "?delay=1");
    expect((await look(id)).json).to.include({ state: "scheduled" });
    await server.until(id, "running");
    await freed(id);
  });

  it("wait while their queue is paused, and are called when it resumes", async () => {
    await server.send("/v1/queues/gpu/pause", { method: "POST" });
    const id = await wait("gpu");
    expect((await look(id)).json).to.include({ state: "waiting", index: 0 });
    await server.send("/v1/queues/gpu/resume", { method: "POST" });
    expect((await look(id)).status).to.equal(200);
    await freed(id);
  });

  it("are called when an operator adds slots, and go on when some are taken away", async () => {
    const patch = (concurrency: unknown) => server.send("/v1/queues/gpu", { method: "PATCH", body: { concurrency } });
    const ids = [await wait("gpu"), await wait("gpu"), await wait("gpu")];
    const more = await patch(2);
    expect(more.json.settings).to.deep.include({
      concurrency: { declared: null, now: null },
      total: { declared: 1, now: 2 },
    });
    expect((await look(ids[1] ?? "")).status).to.equal(200);
    expect((await patch({ total: 1 })).json.settings.total.now).to.equal(1);
    await done(ids[0] ?? "");
    expect((await look(ids[2] ?? "")).status, "one still runs").to.equal(404);
    await done(ids[1] ?? "");
    expect((await look(ids[2] ?? "")).status).to.equal(200);
    expect((await patch({ each: 2 })).status).to.equal(400);
    expect((await patch(null)).json.settings.total).to.deep.equal({ declared: 1, now: 1 });
    await freed(...ids);
  });

  it("go in turn to the keys of a fair line, and one at a time to those of a keyed line", async () => {
    const loud = [await wait("shared", "?who=a"), await wait("shared", "?who=a"), await wait("shared", "?who=a")];
    const quiet = await wait("shared", "?who=b");
    // The second of a came when nobody else waited.
    await done(loud[0] ?? "");
    await done(loud[1] ?? "");
    expect((await look(quiet)).status, "b before the third of a").to.equal(200);
    await freed(quiet, ...loud);
    const [one, two, other] = [
      await wait("pairs", "?who=a"),
      await wait("pairs", "?who=a"),
      await wait("pairs", "?who=b"),
    ];
    expect((await look(two)).json).to.include({ state: "waiting" });
    expect((await look(other)).status).to.equal(200);
    await done(one);
    expect((await look(two)).status).to.equal(200);
    await freed(two, other);
  });

  it("are not for workers", async () => {
    const answer = await server.send("/v1/queues/gpu/leases", { method: "POST", body: { count: 1 } });
    expect(answer.status).to.equal(400);
    expect(answer.json.detail).to.contain("turns");
  });

  it("are not ended, failed or kept by workers that know the fence", async () => {
    const id = await wait("gpu");
    const fence = String((await look(id)).json.turn.fence);
    for (const [verb, more] of [
      ["renew", { lease: 5 }],
      ["progress", { percent: 5 }],
      ["output", { data: [1] }],
      ["complete", { result: 1 }],
      ["fail", { error: "no" }],
    ] as const) {
      const body = { fence: Number(fence), ...more };
      const answer = await server.send(`/v1/leases/${id}/${verb}`, { method: "POST", body });
      expect([verb, answer.status, answer.json.reason], answer.text).to.deep.equal([verb, 410, "lease-lost"]);
    }
    expect((await look(id)).json).to.deep.include({ state: "running" });
    await freed(id);
  });

  it("may be many in a batch", async () => {
    const verdicts = await server.batch("gpu", "1\n2\n3\n");
    const ids = verdicts.map(({ id }) => id as string);
    expect((await look(ids[0] ?? "")).status).to.equal(200);
    expect((await look(ids[2] ?? "")).json.index).to.equal(1);
    await freed(...ids);
  });
});
