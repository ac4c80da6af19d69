import path from "node:path";
import { expect } from "chai";
import { queueLines } from "../../../src/cli/commands/queues.ts";
import { Keys } from "../../../src/store/keys.ts";
import { connectOnce } from "../../../src/store/servers/connect-once.ts";
import type { Queue } from "../../../src/wire/queue.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";
import { storeUrl } from "../../helpers/store/run-store.ts";
import { storedKey } from "../../helpers/store/stored.ts";
import { eventually } from "../../shared/eventually.ts";

/** A deployment that has other queues than the usual one. */
const OTHERS = path.join(import.meta.dirname, "../../fixtures/handlers/undo");
const POST = { method: "POST" };

/** As if the processes with a handler for these queues had been gone for this long. */
async function goneFor(prefix: string, queues: readonly string[], ms: number): Promise<void> {
  const redis = await connectOnce(storeUrl());
  const registry = storedKey(new Keys(prefix, 1).tag(0), "queues");
  for (const queue of queues) {
    const [at, ...facts] = String(await redis.hget(registry, queue)).split(" ");
    await redis.hset(registry, queue, [Number(at) - ms, ...facts].join(" "));
  }
  redis.disconnect();
}

describe("queues without a handler here", () => {
  const servers: TestServer[] = [];
  afterEach(async () => {
    for (const [n, server] of servers.splice(0).reverse().entries()) await server.stop({ keep: n > 0 });
  });
  const start = async (env: Readonly<Record<string, string>>) => {
    const server = await startServer(env);
    servers.push(server);
    return server;
  };
  /** A server that knows of queues that another one had, and what is in `gated` then. */
  const successor = async (goneMs: number) => {
    const before = await startServer({ ROLE: "api" });
    const ids = [await before.enqueue("gated", { gate: "a" }), await before.enqueue("gated", { gate: "b" })];
    ids.push(await before.enqueue("gated", { gate: "c" }, "?delay=3600"));
    await eventually(async () => (await before.send("/v1/queues/gated")).json.waiting === 2);
    await before.stop({ keep: true });
    await goneFor(before.prefix, ["gated", "default"], goneMs);
    const after = await start({ KEY_PREFIX: before.prefix, HANDLERS: OTHERS });
    await eventually(async () => (await after.send("/v1/queues/gated")).status === 200);
    return { after, ids };
  };
  const listed = async (server: TestServer) => {
    const { items } = (await server.send("/v1/queues")).json as { items: Queue[] };
    return new Map(items.map((item) => [item.name, item]));
  };
  const gauge = async (server: TestServer, name: string) =>
    new RegExp(`^${name} (\\S+)$`, "m").exec((await server.send("/metrics")).text)?.[1];

  it("are listed as orphaned while they hold tasks and no process has had a handler for a minute; can be inspected and emptied", async () => {
    const { after, ids } = await successor(61_000);
    const queues = await listed(after);
    expect(queues.get("gated")).to.include({ orphaned: true, own: false, waiting: 2, scheduled: 1, workers: 0 });
    expect(queues.get("gated")).to.deep.include({ consumes: [], input: null, eta: null });
    expect(queueLines(queues.get("gated") as Queue)[0]).to.match(/gated: orphaned/);
    expect(queues.has("default"), "one that is empty").to.equal(false);
    expect(queues.get("paihao.undo")).to.include({ orphaned: false });
    expect(await gauge(after, 'paihao_queue_orphaned\\{queue="gated"\\}')).to.equal("1");
    expect(await gauge(after, 'paihao_queue_orphaned\\{queue="paihao.undo"\\}')).to.equal("0");
    expect(await gauge(after, 'paihao_queue_tasks\\{queue="gated",state="waiting"\\}')).to.equal("2");
    expect((await after.send("/v1/history")).text).to.include('"gated"');

    const waiting = (await after.send("/v1/queues/gated/waiting")).json.items as { id: string }[];
    expect(waiting.map(({ id }) => id)).to.deep.equal(ids.slice(0, 2));
    expect((await after.post("gated", 1)).json.type, "nothing can be submitted").to.equal("/problems/unknown-queue");
    const bulk = async (action: string, list: string) => {
      const { status, json } = await after.send("/v1/queues/gated/bulk", { ...POST, body: { action, list } });
      return [status, json.matched];
    };
    expect(await bulk("cancel", "waiting")).to.deep.equal([200, 2]);
    expect(await bulk("cancel", "scheduled")).to.deep.equal([200, 1]);
    for (const id of ids) expect((await after.send(`/v1/requests/${id}`)).status).to.equal(410);
    expect((await listed(after)).has("gated"), "once it is empty").to.equal(false);
    expect(await gauge(after, 'paihao_queue_orphaned\\{queue="gated"\\}')).to.equal(undefined);
    expect(await bulk("delete", "finished")).to.deep.equal([200, 3]);
  });

  it("are listed, but not as orphaned, while other processes have their handlers", async () => {
    const { after } = await successor(0);
    const queues = await listed(after);
    expect(queues.get("gated")).to.include({ orphaned: false, waiting: 2 });
    expect(queues.get("default")).to.include({ orphaned: false, waiting: 0 });
    expect(await gauge(after, 'paihao_queue_orphaned\\{queue="gated"\\}')).to.equal("0");
  });

  it("are not orphaned once a process has their handlers again", async () => {
    const { after } = await successor(61_000);
    expect((await listed(after)).get("gated")).to.include({ orphaned: true });
    const back = await start({ KEY_PREFIX: after.prefix, ROLE: "api" });
    expect((await listed(back)).get("gated")).to.include({ orphaned: false });
    // One that has none, and is told at its start rather than every thirty seconds.
    const other = await start({ KEY_PREFIX: after.prefix, ROLE: "api", HANDLERS: OTHERS });
    expect((await listed(other)).get("gated")).to.include({ orphaned: false });
  });
});
