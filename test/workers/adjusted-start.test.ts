import { expect } from "chai";
import { defineHandler } from "../../src/handler/define.ts";
import { deferred } from "../helpers/deferred.ts";
import { openWorkshop, type Workshop } from "../helpers/workshop.ts";

/** So many commands of another connection are answered while a worker that does not wait would have taken its tasks. */
const MEANWHILE = 1000;

describe("a worker that starts after an operator has set fewer slots than declared", () => {
  let shop: Workshop;
  afterEach(() => shop.close());

  it("takes no task before it has heard of that", async () => {
    const [heard, end] = [deferred(), deferred()];
    let running = 0;
    const run = () => {
      running += 1;
      return end.promise;
    };
    shop = await openWorkshop([defineHandler({ queue: "jobs", concurrency: 3, run })]);
    const { engine } = shop;
    await engine.queues.adjust("jobs", { concurrency: 1 });
    const ids = [];
    for (let n = 0; n < 3; n += 1) ids.push(await shop.submit({}));

    const heartbeat = engine.workers.heartbeat.bind(engine.workers);
    engine.workers.heartbeat = async (...about) => {
      const answer = await heartbeat(...about);
      await heard.promise;
      return answer;
    };
    const worker = await shop.worker({ idle: true });
    const started = worker.start();
    const redis = await shop.redis();
    for (let n = 0; n < MEANWHILE; n += 1) await redis.ping();
    expect(running).to.equal(0);

    heard.resolve();
    await started;
    await shop.ended(ids[0] ?? "", "running");
    for (let n = 0; n < MEANWHILE; n += 1) await redis.ping();
    expect(running).to.equal(1);
    end.resolve();
    for (const id of ids) await shop.ended(id, "succeeded");
  });

  it("can be stopped before it has heard anything", async () => {
    shop = await openWorkshop([defineHandler({ queue: "jobs", run: () => undefined })]);
    const { engine } = shop;
    engine.workers.heartbeat = () => Promise.reject(new Error("the store is away"));
    const worker = await shop.worker({ idle: true });
    const started = worker.start();
    await worker.stop();
    await started;
  });
});
