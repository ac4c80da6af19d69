import { Queue } from "bullmq";
import { expect } from "chai";
import { PaihaoClient } from "paihao/client";
import { classOf, move, taskId } from "../../examples/from-bullmq/move.ts";
import { createLog } from "../../src/log.ts";
import { findServerBinary } from "../../src/store/servers/native/server-binary.ts";
import { startServer, type TestServer } from "../helpers/http/server.ts";
import { type PrivateRedis, startRedis } from "../shared/redis-server.ts";

describe("examples/from-bullmq", function () {
  this.timeout(120_000);
  let redis: PrivateRedis;
  let server: TestServer;
  const queues: Queue[] = [];
  before(async function () {
    if ((await findServerBinary(createLog("silent"))).binary === undefined) return this.skip();
    redis = await startRedis();
    server = await startServer();
    const connection = { host: "127.0.0.1", port: redis.port };
    for (const name of ["photos", "mails"]) queues.push(new Queue(name, { connection }));
  });
  after(async () => {
    for (const queue of queues) await queue.close();
    await server?.stop();
    await redis?.stop();
  });

  const taskOf = async (queue: string, id: string) =>
    (await server.send(`/v1/requests/${taskId(queue, id)}/status`)).json;

  it("moves every job once, with its time and order, although it is interrupted, and ids are counted per queue", async () => {
    const [photos, mails] = queues as [Queue, Queue];
    const HOUR_MS = 3_600_000;
    const later = { delay: 2 * HOUR_MS };
    for (const queue of [photos, mails])
      for (let n = 0; n < 3; n += 1) await queue.add("shrink", { of: queue.name, n }, later);
    await photos.add("shrink", { n: "odd" }, { ...later, jobId: "cat/1@x.example" });
    // Added an hour ago, so it is due in an hour; and one whose delay was changed.
    await photos.add("shrink", { n: "old" }, { ...later, jobId: "old", timestamp: Date.now() - HOUR_MS });
    const changed = await photos.add(
      "shrink",
      { n: "changed" },
      { ...later, jobId: "changed", timestamp: Date.now() - HOUR_MS },
    );
    await changed.changeDelay(3 * HOUR_MS);
    for (const priority of [0, 5, 2_000_000])
      await photos.add("shrink", { priority }, { jobId: `p${priority}`, priority });

    let sent = 0;
    const breaking = new PaihaoClient({
      url: server.url,
      attempts: 1,
      fetch: async (...request) => {
        const answer = await fetch(...request);
        sent += 1;
        // The job has been submitted, and is still in its old queue.
        if (sent === 5) throw new TypeError("cut");
        return answer;
      },
    });
    await move(photos, breaking, "default").then(
      () => expect.fail("it was not interrupted"),
      () => undefined,
    );
    const client = new PaihaoClient({ url: server.url });
    const rest = await move(photos, client, "default");
    expect(rest).to.deep.equal({ moved: 9 - 4, left: [] });
    expect((await move(mails, client, "default")).moved).to.equal(3);
    for (const queue of [photos, mails]) {
      const { waiting, delayed, prioritized } = await queue.getJobCounts();
      expect([waiting, delayed, prioritized]).to.deep.equal([0, 0, 0]);
      for (let n = 1; n <= 3; n += 1) {
        const input = await server.send(`/v1/requests/${taskId(queue.name, `${n}`)}/input`);
        expect(input.json).to.deep.equal({ of: queue.name, n: n - 1 });
      }
    }
    const { items } = (await server.send("/v1/queues/default/scheduled?limit=100")).json;
    const due = new Map<string, string>(items.map(({ id, dueAt }: { id: string; dueAt: string }) => [id, dueAt]));
    const hours = (id: string) => (Date.parse(due.get(taskId("photos", id)) ?? "") - Date.now()) / HOUR_MS;
    expect(["1", "old", "changed"].map((id) => Math.round(hours(id)))).to.deep.equal([2, 1, 3]);
    expect((await taskOf("photos", "cat/1@x.example")).state).to.equal("scheduled");
    for (const id of ["p0", "p5", "p2000000"]) await server.until(taskId("photos", id), "succeeded");
  });

  it("gives different ids to different jobs, and the classes in the order of BullMQ", () => {
    const ids = [taskId("a.b", "c"), taskId("a", "b.c"), taskId("a", "b~c"), taskId("a", "b/c"), taskId("a", "b@c")];
    expect(new Set(ids).size).to.equal(5);
    for (const id of ids) expect(id).to.match(/^[A-Za-z0-9][\w.~-]{0,127}$/);
    expect([undefined, 0, 1, 9, 10, 2_097_151].map(classOf)).to.deep.equal([3, 3, 4, 4, 5, 7]);
  });
});
