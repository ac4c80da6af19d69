import { expect } from "chai";
import { defineHandler } from "../../src/handler/define.ts";
import { openWorkshop, type Workshop } from "../helpers/workshop.ts";

describe("a worker in the process that submits", () => {
  let shop: Workshop;
  afterEach(() => shop.close());

  it("asks for the task right behind its submission, without a message, a tick or a request that waits", async () => {
    const handler = defineHandler({ queue: "jobs", run: () => "done" });
    shop = await openWorkshop([handler], { timeless: true });
    const { engine } = shop;
    engine.leases.openStandby = async () => undefined;
    engine.pubsub.listen = async () => () => undefined;
    const reserve = engine.leases.reserve.bind(engine.leases);
    let answered = 0;
    engine.leases.reserve = async (request) => {
      const answer = await reserve(request);
      answered += 1;
      return answer;
    };
    await shop.worker();
    const redis = await shop.redis();
    while (answered === 0) await redis.ping();
    for (let n = 0; n < 3; n += 1) expect(await shop.answer(await shop.submit({}))).to.equal("done");
  });
});
