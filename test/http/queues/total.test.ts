import { expect } from "chai";
import { defineHandler, type Handler } from "../../../src/handler/define.ts";
import type { HandlerOptions } from "../../../src/handler/options.ts";
import { closedGate, passGate } from "../../helpers/gates.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";
import { eventually } from "../../shared/eventually.ts";

const HOUR = "1h";

describe("a queue with a total", () => {
  const servers: TestServer[] = [];
  const kinds: Readonly<Record<string, Partial<HandlerOptions<{ gate: string; who: string }>>>> = {
    plain: {},
    fair: { fair: { by: ({ who }) => who } },
    keyed: { keyed: { by: ({ who }) => who, concurrency: 2 } },
    limited: { limit: { running: 2, by: ({ who }) => who } },
    rated: { rate: { max: 100, per: HOUR } },
  };
  before(async () => {
    for (let n = 0; n < 2; n += 1) {
      const handlers = Object.entries(kinds).map(([queue, options]) =>
        defineHandler<{ gate: string; who: string }>({
          ...options,
          queue,
          concurrency: { each: 3, total: 2 },
          run: ({ gate }, task) => passGate(gate, task),
        }),
      );
      const remote = defineHandler({
        ...{ queue: "remote", concurrency: { each: 0, total: 2 }, backoff: { base: "1ms" } },
        run: () => undefined,
      });
      const byQueue = new Map([...handlers, remote].map((handler) => [handler.queue, handler as Handler]));
      const prefix = servers[0] && { KEY_PREFIX: servers[0].prefix };
      servers.push(await startServer({ ...prefix }, { handlers: byQueue }));
    }
  });
  after(async () => {
    for (const server of servers.splice(0).reverse()) await server.stop({ keep: servers.length > 0 });
  });

  const first = () => servers[0] as TestServer;
  const figures = async (queue: string) => (await first().send(`/v1/queues/${queue}`)).json;
  const untilRunning = (queue: string, running: number) =>
    eventually(async () => (await figures(queue)).running === running);
  const submit = async (queue: string, count: number) => {
    const gates = Array.from({ length: count }, closedGate);
    const ids: string[] = [];
    for (const [n, { input }] of gates.entries()) {
      const server = servers[n % servers.length] as TestServer;
      ids.push(await server.enqueue(queue, { ...input, who: `k${n % 3}` }));
    }
    return { gates, ids };
  };

  for (const queue of Object.keys(kinds)) {
    it(`never has more running, over all processes, and starts the next at each end: ${queue}`, async () => {
      const { gates, ids } = await submit(queue, 8);
      await untilRunning(queue, 2);
      for (const [n, gate] of gates.entries()) {
        gate.open(String(n));
        await eventually(async () => (await figures(queue)).running === Math.min(2, 7 - n));
        expect((await figures(queue)).waiting).to.equal(Math.max(0, 8 - 2 - n - 1));
      }
      for (const id of ids) await first().until(id, "succeeded");
    });
  }

  it("counts tasks that are leased over HTTP", async () => {
    const take = async () => {
      const body = { count: 3, worker: "w" };
      const headers = { Prefer: "wait=0" };
      return first().send("/v1/queues/plain/leases", { method: "POST", body, headers });
    };
    const { gates } = await submit("plain", 3);
    await untilRunning("plain", 2);
    expect((await take()).status).to.equal(204);
    for (const gate of gates) gate.open("done");
    await untilRunning("plain", 0);
  });

  it("keeps workers over HTTP at it, whether they complete, fail, wait or are lost", async () => {
    const queue = "remote";
    const ids = await Promise.all(Array.from({ length: 24 }, (_, n) => first().enqueue(queue, n)));
    let most = 0;
    const post = (path: string, body: unknown, headers = {}) => first().send(path, { method: "POST", body, headers });
    const left = async () => {
      const { running, waiting, scheduled } = await figures(queue);
      most = Math.max(most, running);
      return running + waiting + scheduled;
    };
    const attempts = new Map<string, number>();
    const work = async (worker: string) => {
      while ((await left()) > 0) {
        const asked = { count: 2, worker, lease: 1 };
        const taken = await post(`/v1/queues/${queue}/leases`, asked, { Prefer: "wait=1" });
        for (const { id, fence, input } of taken.status === 200 ? taken.json.items : []) {
          await left();
          const isFirst = !attempts.has(id);
          attempts.set(id, (attempts.get(id) ?? 0) + 1);
          // One in eight is left alone: its lease ends.
          if (isFirst && input % 8 === 1) continue;
          const lease = { fence: String(fence) };
          if (isFirst && input % 4 === 2) await post(`/v1/leases/${id}/fail`, { ...lease, error: "not yet" });
          else await post(`/v1/leases/${id}/complete`, { ...lease, result: input });
        }
      }
    };
    await Promise.all(["w1", "w2", "w3"].map(work));
    for (const id of ids) await first().until(id, "succeeded");
    expect(most).to.equal(2);
  });

  it("tells its estimates and its slots by the total", async () => {
    const { gates, ids } = await submit("plain", 4);
    await untilRunning("plain", 2);
    const { slots, settings } = await figures("plain");
    expect({ slots, total: settings.total, concurrency: settings.concurrency }).to.deep.equal({
      ...{ slots: 2, total: { declared: 2, now: 2 }, concurrency: { declared: 3, now: 3 } },
    });
    expect((await first().send(`/v1/requests/${ids[3]}/status`)).json.eta).not.to.deep.include({ basis: "idle" });
    for (const gate of gates) gate.open("done");
    for (const id of ids) await first().until(id, "succeeded");
  });

  it("takes another one at once: more start, or no more until enough have ended", async () => {
    const patch = (total: number | null) =>
      first().send("/v1/queues/plain", { method: "PATCH", body: { concurrency: { total } } });
    const { gates, ids } = await submit("plain", 6);
    await untilRunning("plain", 2);
    expect((await patch(4)).json.settings.total).to.deep.equal({ declared: 2, now: 4 });
    await untilRunning("plain", 4);
    await patch(1);
    for (const gate of gates.slice(0, 3)) gate.open("done");
    for (const id of ids.slice(0, 3)) await first().until(id, "succeeded");
    expect(await figures("plain")).to.include({ running: 1, waiting: 2 });
    expect((await patch(null)).json.settings.total).to.deep.equal({ declared: 2, now: 2 });
    await untilRunning("plain", 2);
    for (const gate of gates) gate.open("done");
    for (const id of ids) await first().until(id, "succeeded");
  });

  it("starts the next when one is canceled, or fails and is to be tried again", async () => {
    const { gates, ids } = await submit("plain", 4);
    await untilRunning("plain", 2);
    await first().send(`/v1/requests/${ids[0]}`, { method: "DELETE" });
    await first().until(ids[0] ?? "", "canceled");
    await first().until(ids[2] ?? "", "running");
    gates[1]?.break(new Error("not yet"));
    await first().until(ids[3] ?? "", "running");
    for (const gate of gates) gate.open("done");
    for (const id of ids.slice(2)) await first().until(id, "succeeded");
  });
});
