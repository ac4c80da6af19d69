import { expect } from "chai";
import { defineHandler } from "../../src/handler/define.ts";
import { BUSY_MS } from "../helpers/busy.ts";
import { deferred } from "../helpers/deferred.ts";
import { openWorkshop, type Workshop } from "../helpers/workshop.ts";

const PARTITIONS = 3;
/** So many commands of another connection are answered while it is counted how often a worker asks. */
const MEANWHILE = 300;

describe("a worker of a queue with a rate", () => {
  let shop: Workshop;
  afterEach(() => shop.close());

  /** Over several partitions; the tasks of its keys run until `end`. */
  const open = async (end: Promise<void>) => {
    const keyed = { by: (input: unknown) => (input as { key: string }).key };
    const options = { concurrency: 4, rate: { max: 2, per: "1m" }, keyed } as const;
    const queue = defineHandler({ queue: "jobs", ...options, run: () => end });
    shop = await openWorkshop([queue], { env: { PARTITIONS: String(PARTITIONS) } });
  };
  /** How often it asks for work beyond the usual polls. */
  const askedMeanwhile = async () => {
    const { engine } = shop;
    const reserve = engine.leases.reserve.bind(engine.leases);
    let asked = 0;
    engine.leases.reserve = (request) => {
      if (request.queue === "jobs") asked += 1;
      return reserve(request);
    };
    const redis = await shop.redis();
    const began = performance.now();
    for (let n = 0; n < MEANWHILE; n += 1) await redis.ping();
    return asked - PARTITIONS * (2 + (performance.now() - began) / 1000);
  };

  it("is not asked for while the queue is paused", async () => {
    await open(Promise.resolve());
    await shop.engine.queues.pause("jobs", true);
    const ids = [];
    for (let n = 0; n < 10; n += 1) ids.push(await shop.submit({}, { key: null }));
    await shop.worker();
    expect(await askedMeanwhile()).to.be.below(MEANWHILE / 10);
    await shop.engine.queues.pause("jobs", false);
    const [first = ""] = ids;
    await shop.ended(first);
  });

  it("is not asked for while all tasks wait for their keys", async () => {
    const end = deferred();
    await open(end.promise);
    const ids = [];
    for (let n = 0; n < 10; n += 1) ids.push(await shop.submit({}, { key: "a" }));
    await shop.worker();
    const [first = ""] = ids;
    await shop.ended(first, "running");
    expect(await askedMeanwhile()).to.be.below(MEANWHILE / 10);
    end.resolve();
    await shop.ended(first);
  });

  it("starts the tasks of a key as fast as the rate allows", async () => {
    const options = { concurrency: 1, rate: { max: 2, per: "200ms" }, keyed: { by: () => "a" } } as const;
    shop = await openWorkshop([defineHandler({ queue: "jobs", ...options, run: () => "done" })]);
    const ids = [];
    for (let n = 0; n < 10; n += 1) ids.push(await shop.submit({}, { key: "a" }));
    const began = performance.now();
    await shop.worker();
    for (const id of ids) await shop.ended(id);
    expect(performance.now() - began).to.be.below(1000 + BUSY_MS);
  });
});
