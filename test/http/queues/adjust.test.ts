import { expect } from "chai";
import { defineHandler, type Handler } from "../../../src/handler/define.ts";
import { closedGate, passGate } from "../../helpers/gates.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";
import { eventually } from "../../shared/eventually.ts";

describe("settings that change while a queue runs", () => {
  let server: TestServer;
  before(async () => {
    const [narrow, rated] = ["narrow", "rated"].map((queue) =>
      defineHandler<{ gate: string }>({
        ...{ queue, concurrency: 1, ...(queue === "rated" && { rate: { max: 1000, per: "1m" } }) },
        run: ({ gate }, task) => passGate(gate, task),
      }),
    );
    const remote = defineHandler({ queue: "remote", concurrency: 0, run: () => undefined });
    server = await startServer(
      {},
      {
        handlers: new Map(
          [narrow, rated, remote].flatMap((handler) => (handler ? [[handler.queue, handler as Handler]] : [])),
        ),
      },
    );
  });
  after(() => server.stop());

  const patch = (queue: string, body: unknown) => server.send(`/v1/queues/${queue}`, { method: "PATCH", body });
  /** Submits tasks that stop at gates of their own. */
  const gatedTasks = async (count: number, queue = "narrow") => {
    const gates = Array.from({ length: count }, closedGate);
    const ids: string[] = [];
    for (const { input } of gates) ids.push(await server.enqueue(queue, input));
    return { ids, gates };
  };
  const openAll = async ({ ids, gates }: Awaited<ReturnType<typeof gatedTasks>>) => {
    for (const gate of gates) gate.open("done");
    for (const id of ids) await server.until(id, "succeeded");
  };
  const queueShows = (facts: object) =>
    eventually(async () => {
      const { json } = await server.send("/v1/queues/narrow");
      return Object.entries(facts).every(([name, value]) => json[name] === value);
    });

  it("let more tasks run at a time at once, and fewer when enough have ended", async () => {
    const all = await gatedTasks(3);
    await all.gates[0]?.entered;
    const changed = await patch("narrow", { concurrency: 3 });
    expect(changed.json.settings.concurrency).to.deep.equal({ declared: 1, now: 3 });
    await Promise.all(all.gates.map(({ entered }) => entered));
    await queueShows({ slots: 3, running: 3 });

    await patch("narrow", { concurrency: 2 });
    await queueShows({ slots: 2, running: 3 });
    const more = await gatedTasks(1);
    all.gates[0]?.open("done");
    await server.until(all.ids[0] ?? "", "succeeded");
    expect((await server.send("/v1/queues/narrow")).json, "two still run").to.include({ running: 2, waiting: 1 });
    await openAll(all);
    await more.gates[0]?.entered;
    await openAll(more);
    const { json } = await patch("narrow", { concurrency: null });
    expect(json.settings.concurrency).to.deep.equal({ declared: 1, now: 1 });
    await queueShows({ slots: 1 });
  });

  it("start no more than a rate that was set allows, whatever is declared, until it is taken back", async () => {
    await patch("rated", { concurrency: 4, rate: { max: 1, per: "1h" } });
    const all = await gatedTasks(3, "rated");
    await all.gates[0]?.entered;
    const held = await server.send(`/v1/requests/${all.ids[2]}/status`);
    expect(held.json.eta).to.include({ basis: "rate" });
    expect(held.json.eta.seconds).to.be.within(7000, 7200);
    const { json } = await patch("rated", { rate: { max: 2, per: "1h" } });
    expect(json.settings.rate).to.deep.equal({
      declared: { max: 1000, per: "1m" },
      now: { max: 2, per: "1h" },
    });
    await all.gates[1]?.entered;
    expect((await server.send("/v1/queues/rated")).json).to.include({ running: 2, waiting: 1 });
    const back = await patch("rated", { rate: null, concurrency: null });
    expect(back.json.settings.rate.now).to.deep.equal({ max: 1000, per: "1m" });
    await openAll(all);
  });

  it("quiet one worker, which ends what it has and takes no more until it is taken back", async () => {
    const all = await gatedTasks(2);
    await all.gates[0]?.entered;
    const worker = async () => (await server.send("/v1/workers")).json.items.find((one: { pid: number }) => one.pid);
    const { id } = await worker();
    const quiet = (body?: object) =>
      server.send(`/v1/workers/${encodeURIComponent(id)}/quiet`, { method: "POST", body });
    expect((await quiet()).status).to.equal(204);
    await queueShows({ slots: 0, running: 1 });
    expect(await worker()).to.deep.include({ quiet: true });
    all.gates[0]?.open("done");
    await server.until(all.ids[0] ?? "", "succeeded");
    expect((await server.send("/v1/queues/narrow")).json).to.include({ running: 0, waiting: 1, workers: 1 });
    expect((await quiet({ quiet: false })).status).to.equal(204);
    await openAll(all);
    expect(await worker()).to.deep.include({ quiet: false });
  });

  it("quiet a worker over HTTP: it gets no leases", async () => {
    const take = () =>
      server.send("/v1/queues/remote/leases", {
        ...{ method: "POST", headers: { Prefer: "wait=0" }, body: { worker: "far:1" } },
      });
    expect((await take()).status).to.equal(204);
    const quiet = (is: boolean) => server.send("/v1/workers/far:1/quiet", { method: "POST", body: { quiet: is } });
    await quiet(true);
    await server.enqueue("remote", {});
    expect((await take()).status).to.equal(204);
    await quiet(false);
    expect((await take()).status).to.equal(200);
  });

  it("are told in the events of the deployment", async () => {
    const { items } = (await server.send("/v1/events")).json;
    const told = items.filter(({ kind }: { kind: string }) => kind === "settings-changed");
    expect(told.map(({ detail }: { detail: string }) => detail)).to.include.members([
      ...["concurrency 3", "concurrency 4, rate 1/1h", "concurrency as declared, rate as declared"],
      ...["takes no more work", "takes work again"],
    ]);
  });

  for (const [what, queue, body, code] of [
    ["nothing", "narrow", {}, "invalid-input"],
    ["no slots", "narrow", { concurrency: 0 }, "invalid-input"],
    ["half a rate", "narrow", { rate: { max: 1 } }, "invalid-input"],
    ["an impossible time", "narrow", { rate: { max: 1, per: "soon" } }, "invalid-input"],
    ["another member", "narrow", { attempts: 3 }, "invalid-input"],
    ["the slots of a queue without code", "remote", { concurrency: 2 }, "invalid-parameter"],
    ["an unknown queue", "nowhere", { concurrency: 2 }, "unknown-queue"],
  ] as const) {
    it(`refuse ${what}`, async () => {
      const before = (await server.send("/v1/queues/narrow")).json.settings;
      expect((await patch(queue, body)).json.type).to.equal(`/problems/${code}`);
      expect((await server.send("/v1/queues/narrow")).json.settings).to.deep.equal(before);
    });
  }

  it("refuse to quiet a worker that is not there", async () => {
    const { status, json } = await server.send("/v1/workers/nobody/quiet", { method: "POST" });
    expect([status, json.type]).to.deep.equal([404, "/problems/not-found"]);
  });
});
