import { expect } from "chai";
import { defineHandler } from "../../src/handler/define.ts";
import { openWorkshop, type Workshop } from "../helpers/workshop.ts";

const PARTITIONS = 5;

describe("a worker of a queue in several partitions", () => {
  let shop: Workshop;
  afterEach(() => shop.close());

  const open = async () => {
    shop = await openWorkshop([defineHandler({ queue: "spread", concurrency: 4, run: () => "done" })], {
      env: { PARTITIONS: String(PARTITIONS) },
    });
  };

  it("asks only partitions that may have work, and the others now and then", async () => {
    await open();
    const { engine } = shop;
    const reserve = engine.leases.reserve.bind(engine.leases);
    let asked = 0;
    engine.leases.reserve = (partition, request) => {
      if (request.queue === "spread") asked += 1;
      return reserve(partition, request);
    };
    await shop.worker();
    const began = performance.now();
    const tasks = 40;
    for (let n = 0; n < tasks; n += 1) await shop.ended(await shop.submit(n));
    const seconds = (performance.now() - began) / 1000;
    // For each task one that takes it, and one that finds that it was the last; without notices each partition once a second.
    expect(asked).to.be.at.most(2 * tasks + PARTITIONS * (2 + seconds));
  });

  it("finds work in all of them even if no notice arrives", async () => {
    await open();
    shop.engine.pubsub.listen = async () => () => undefined;
    await shop.worker();
    for (let round = 0; round < 2; round += 1) {
      const ids = await Promise.all(Array.from({ length: 20 }, (_, n) => shop.submit(n)));
      expect(new Set(ids.map((id) => shop.engine.keys.partitionOf(id))).size).to.equal(PARTITIONS);
      for (const id of ids) await shop.ended(id);
    }
  });
});
