import { expect } from "chai";
import { ProblemError } from "../../src/errors.ts";
import { defineHandler } from "../../src/handler/define.ts";
import { connectOnce } from "../../src/store/servers/connect-once.ts";
import { deferred } from "../helpers/deferred.ts";
import { storeUrl } from "../helpers/store/run-store.ts";
import { openWorkshop, type Workshop } from "../helpers/workshop.ts";
import { eventually } from "../shared/eventually.ts";

describe("a worker's slots", () => {
  let shop: Workshop;
  afterEach(() => shop.close());

  /** A handler that counts how many of it run at once, and holds each until the gate opens. */
  const counting = (gate: Promise<unknown>, concurrency: number) => {
    const seen = { running: 0, max: 0, runs: [] as string[] };
    const handler = defineHandler({
      queue: "counted",
      concurrency,
      run: async (_, task) => {
        seen.running += 1;
        seen.max = Math.max(seen.max, seen.running);
        seen.runs.push(task.id);
        await gate;
        seen.running -= 1;
      },
    });
    return { seen, handler };
  };

  /** Makes every other reservation fail for the worker after the store has made it. */
  const loseEveryOtherAnswer = ({ engine }: Workshop) => {
    const reserve = engine.leases.reserve.bind(engine.leases);
    let taken = 0;
    engine.leases.reserve = async (request) => {
      const reply = await reserve(request);
      if (reply.tasks.length === 0) return reply;
      taken += 1;
      if (taken % 2 === 1) throw new ProblemError("store-unavailable");
      return reply;
    };
  };

  it("are all used and never exceeded; free ones are filled at once, in the order of the line", async () => {
    const gate = deferred();
    const { seen, handler } = counting(gate.promise, 3);
    shop = await openWorkshop([handler]);
    await shop.worker();
    const ids = [];
    for (let n = 0; n < 10; n += 1) ids.push(await shop.submit(n));
    await eventually(() => seen.running === 3);
    expect((await shop.look(String(ids[3]))).index).to.equal(0);
    gate.resolve();
    await Promise.all(ids.map((id) => shop.ended(id)));
    expect(seen.max).to.equal(3);
    expect(seen.runs).to.deep.equal(ids);
  });

  it("do not exist for a queue whose handler has concurrency 0: its tasks wait for workers over HTTP", async () => {
    const left = counting(Promise.resolve(), 0);
    const done = defineHandler({ queue: "done-here", run: () => 1 });
    shop = await openWorkshop([left.handler, done]);
    await shop.worker();
    const waits = await shop.submit(1, { queue: "counted" });
    await shop.ended(await shop.submit(1, { queue: "done-here" }));
    const seen = await shop.look(waits);
    expect([seen.state, seen.snapshot.slots, seen.snapshot.workers]).to.deep.equal(["waiting", 0, 0]);
    expect(left.seen.runs).to.deep.equal([]);
  });

  it("are counted in the queue's figures until the worker stops", async () => {
    const { handler } = counting(Promise.resolve(), 3);
    shop = await openWorkshop([handler]);
    const [one] = await Promise.all([shop.worker(), shop.worker()]);
    const snapshot = async () => (await shop.engine.queues.figures(["counted"]))[0]?.snapshot;
    await eventually(async () => (await snapshot())?.slots === 6);
    expect((await snapshot())?.workers).to.equal(2);
    await one?.stop();
    expect(await snapshot()).to.include({ workers: 1, slots: 3 });
  });

  it("use two requests for work at once if there are many slots, without exceeding the total", async () => {
    const gate = deferred();
    const { seen, handler } = counting(gate.promise, 32);
    shop = await openWorkshop([handler]);
    const { engine } = shop;
    const reserve = engine.leases.reserve.bind(engine.leases);
    const underway = new Set<number | undefined>();
    let max = 0;
    engine.leases.reserve = async (request) => {
      expect(underway).to.not.include(request.lane);
      underway.add(request.lane);
      max = Math.max(max, underway.size);
      const reply = await reserve(request);
      underway.delete(request.lane);
      return reply;
    };
    const ids = await Promise.all(Array.from({ length: 300 }, (_, n) => shop.submit(n)));
    await shop.worker();
    await eventually(() => seen.running === 32);
    gate.resolve();
    await Promise.all(ids.map((id) => shop.ended(id)));
    expect([max, seen.max]).to.deep.equal([2, 32]);
    expect(seen.runs).to.deep.equal(ids);
  });

  for (const slots of [4, 32]) {
    it(`stay correct if replies to requests for work are lost: ${slots} slots`, async () => {
      const gate = deferred();
      const { seen, handler } = counting(gate.promise, slots);
      shop = await openWorkshop([handler]);
      loseEveryOtherAnswer(shop);
      const ids = await Promise.all(Array.from({ length: 3 * slots }, (_, n) => shop.submit(n)));
      await shop.worker();
      await eventually(() => seen.running === slots);
      gate.resolve();
      const ended = await Promise.all(ids.map((id) => shop.ended(id)));
      expect(seen.max).to.equal(slots);
      expect(seen.runs.toSorted()).to.deep.equal(ids.toSorted());
      expect(ended.map(({ lost, attempts }) => [lost, attempts])).to.deep.equal(ids.map(() => [0, 1]));
    });
  }
  it("hand back tasks at once if no slot is free for them any more", async () => {
    const gate = deferred();
    const { seen, handler } = counting(gate.promise, 2);
    shop = await openWorkshop([handler]);
    const reserve = shop.engine.leases.reserve.bind(shop.engine.leases);
    const brought: number[] = [];
    shop.engine.leases.reserve = async (request) => {
      // As if the request had been sent when both slots were free.
      const reply = await reserve({ ...request, count: 2 });
      if (reply.tasks.length > 0) brought.push(reply.tasks.length);
      return reply;
    };
    await shop.worker();
    const ids = [await shop.submit(1)];
    await eventually(() => seen.running === 1);
    await shop.engine.queues.pause("counted", true);
    ids.push(await shop.submit(2), await shop.submit(3));
    await shop.engine.queues.pause("counted", false);
    await eventually(async () => seen.running === 2 && (await shop.look(String(ids[2]))).state === "waiting");
    expect(brought).to.deep.equal([1, 2]);
    expect(await shop.look(String(ids[2]))).to.include({ index: 0, attempts: 0, lost: 0 });
    gate.resolve();
    await Promise.all(ids.map((id) => shop.ended(id)));
    expect(seen.max).to.equal(2);
    expect(seen.runs).to.deep.equal(ids);
  });

  it("continue past entries in the line that are not tasks", async () => {
    const { handler } = counting(Promise.resolve(), 1);
    shop = await openWorkshop([handler]);
    const ids = await Promise.all(Array.from({ length: 8 }, (_, n) => shop.submit(n)));
    const redis = await connectOnce(storeUrl());
    await redis.unlink(...ids.slice(0, 7).map((id) => shop.engine.keys.start(shop.engine.keys.tag(0), "task") + id));
    redis.disconnect();
    await shop.worker();
    await shop.ended(String(ids[7]));
  });
});
