import { mock } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { lossOf } from "../../src/engine/upkeep/tick.ts";
import type { Standby } from "../../src/store/line/standby.ts";
import { batchHandler, LONG } from "../helpers/batch-handler.ts";
import { deferred } from "../helpers/deferred.ts";
import { openWorkshop, type Workshop } from "../helpers/workshop.ts";
import { eventually } from "../shared/eventually.ts";

describe("the calls of a handler with batch", () => {
  let shop: Workshop;
  afterEach(() => shop.close());

  const submitAll = async (inputs: readonly unknown[], given: (n: number) => object = () => ({})) => {
    const ids: string[] = [];
    for (const [n, input] of inputs.entries()) ids.push(await shop.submit(input, given(n)));
    return ids;
  };
  const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);
  const allEnded = (ids: readonly string[]) => Promise.all(ids.map((id) => shop.ended(id)));

  it("wait for more from when the first task came, however long the worker had waited for it", async () => {
    const { sizes, handler } = batchHandler({ max: 2, wait: "1s" });
    shop = await openWorkshop([handler]);
    const { leases } = shop.engine;
    const open = leases.openStandby.bind(leases);
    let standby: Standby | undefined;
    leases.openStandby = async (queue) => {
      standby = await open(queue);
      return standby;
    };
    await shop.worker();
    await allEnded(await submitAll([1, 2]));
    await eventually(() => standby?.waiting === true);
    // For the worker its request waits in the store for longer than a call waits for tasks.
    const now = performance.now.bind(performance);
    const later = mock.method(performance, "now", () => now() + 1200);
    await allEnded(await submitAll([3, 4]));
    later.mock.restore();
    expect(sizes()).to.deep.equal([2, 2]);
  });

  it("begin when the first task has waited, although others came later", async () => {
    const begun = deferred();
    const { sizes, handler } = batchHandler({ max: 100, wait: "500ms" }, ({ inputs }) => {
      begun.resolve();
      return inputs;
    });
    shop = await openWorkshop([handler]);
    await shop.worker();
    const [first = ""] = await submitAll([1]);
    await shop.ended(first, "running");
    let waitedAgain = false;
    // Timers of the same length fire in the order in which they were set.
    const timer = setTimeout(() => {
      waitedAgain = true;
    }, 500);
    const [second = ""] = await submitAll([2]);
    await begun.promise;
    clearTimeout(timer);
    expect(waitedAgain).to.equal(false);
    await allEnded([first, second]);
    expect(sizes()[0]).to.be.within(1, 2);
  });

  it("have up to max tasks, also above what one message to the store holds", async () => {
    const { sizes, handler } = batchHandler({ max: 250, wait: LONG });
    shop = await openWorkshop([handler]);
    const ids = await submitAll(numbers(500));
    await shop.worker();
    expect(await Promise.all(ids.map((id) => shop.answer(id)))).to.deep.equal(ids.map((_, n) => 2 * n));
    expect(sizes()).to.deep.equal([250, 250]);
  });

  /** The first task of the line loses its worker. */
  const loseWorker = async () => {
    const request = { queue: "many", worker: "gone", reservation: "1", count: 1, leaseMs: 1000, rate: undefined };
    const { tasks } = await shop.engine.leases.reserve(request);
    const { id = "", fence = "" } = tasks[0] ?? {};
    await shop.engine.call("lose", { ...lossOf(shop.engine.queues.settings("many")), queue: "many", id, fence });
  };

  it("leave no slot for a task that has lost its worker, which is put off", async () => {
    shop = await openWorkshop([batchHandler({ max: 3, wait: LONG }).handler]);
    const suspect = await shop.submit(1, { priority: 7 });
    await loseWorker();
    await shop.submit(2);
    await shop.worker();
    await shop.ended(suspect, "retrying");
  });

  it("are never more at once than slots, although a task that lost its worker has one alone", async () => {
    let [running, most] = [0, 0];
    const { calls, handler } = batchHandler({ max: 3 }, async ({ inputs }) => {
      running += 1;
      most = Math.max(most, running);
      await delay(20);
      running -= 1;
      return inputs;
    });
    shop = await openWorkshop([handler]);
    const ids = await submitAll([1, 2, 3, 4]);
    await loseWorker();
    await shop.worker();
    const ended = await allEnded(ids);
    expect(most).to.equal(1);
    expect(calls.map(({ inputs }) => inputs)).to.deep.include([1]);
    expect(ended.map(({ lost, attempts }) => [lost, attempts])).to.deep.equal([
      [1, 1],
      ...ids.slice(1).map(() => [0, 1]),
    ]);
  });

  it("have each task once, and no more calls at once than slots, when they are short and many", async () => {
    let [running, most] = [0, 0];
    const { calls, handler } = batchHandler(
      { max: 8 },
      async ({ inputs }) => {
        running += 1;
        most = Math.max(most, running);
        await delay(10);
        running -= 1;
        return inputs;
      },
      { concurrency: 2 },
    );
    shop = await openWorkshop([handler]);
    const ids = await submitAll(numbers(400));
    const worker = await shop.worker({ drainTimeoutMs: 10_000 });
    await eventually(() => calls.length > 20);
    await worker.stop();
    const left = await Promise.all(ids.map((id) => shop.look(id)));
    for (const { state, attempts, lost } of left) {
      if (state === "succeeded") expect([attempts, lost]).to.deep.equal([1, 0]);
      else expect([state, attempts, lost]).to.deep.equal(["waiting", 0, 0]);
    }
    await shop.worker();
    await allEnded(ids);
    expect(most).to.equal(2);
    expect(calls.flatMap(({ inputs }) => inputs).toSorted((a, b) => Number(a) - Number(b))).to.deep.equal(numbers(400));
  });

  for (const concurrency of [1, 2]) {
    it(`have at most ${concurrency} of the tasks of one key at a time, in the order of submission`, async () => {
      let [running, most] = [0, 0];
      const order: unknown[] = [];
      const { calls, handler } = batchHandler(
        { max: 4 },
        async ({ inputs }) => {
          const own = inputs.filter((input) => String(input).startsWith("a"));
          running += own.length;
          most = Math.max(most, running);
          order.push(...own);
          await delay(5);
          running -= own.length;
          return inputs;
        },
        { concurrency: 2, keyed: { by: () => "", concurrency } },
      );
      shop = await openWorkshop([handler]);
      const inputs = ["a1", "b1", "a2", "a3", "c1", "a4", "b2", "a5"];
      const ids = await submitAll(inputs, (n) => ({ key: String(inputs[n])[0] }));
      await shop.worker();
      await allEnded(ids);
      expect(most).to.equal(concurrency);
      expect(order).to.deep.equal(["a1", "a2", "a3", "a4", "a5"]);
      if (concurrency === 1) expect(calls[0]?.inputs).to.deep.equal(["a1", "b1", "c1"]);
    });
  }

  it("take turns between the line keys of a fair line", async () => {
    const { calls, handler } = batchHandler({ max: 4 });
    shop = await openWorkshop([handler]);
    const keys = ["A", "A", "A", "A", "A", "A", "B", "B"];
    const ids = await submitAll(
      keys.map((_, n) => n),
      (n) => ({ share: { key: keys[n], weight: 1 } }),
    );
    await shop.worker();
    await allEnded(ids);
    const ofCalls = calls.map(({ inputs }) => inputs.map((n) => keys[Number(n)]).sort());
    expect(ofCalls).to.deep.equal([
      ["A", "A", "B", "B"],
      ["A", "A", "A", "A"],
    ]);
  });

  it("get no further task while the queue is paused; those that they have are run", async () => {
    const { calls, handler } = batchHandler({ max: 3, wait: LONG });
    shop = await openWorkshop([handler]);
    await shop.worker();
    const [first = ""] = await submitAll([1]);
    await shop.ended(first, "running");
    await shop.engine.queues.pause("many", true);
    const [second = ""] = await submitAll([2]);
    expect((await shop.look(second)).state).to.equal("waiting");
    await shop.engine.queues.pause("many", false);
    const [third = ""] = await submitAll([3]);
    await allEnded([first, second, third]);
    expect(calls.map(({ inputs }) => inputs)).to.deep.equal([[1, 2, 3]]);
  });

  it("begin although the queue was paused meanwhile", async () => {
    const { sizes, handler } = batchHandler({ max: 3, wait: "50ms" });
    shop = await openWorkshop([handler]);
    await shop.worker();
    const [id = ""] = await submitAll([1]);
    await shop.ended(id, "running");
    await shop.engine.queues.pause("many", true);
    expect((await shop.ended(id)).state).to.equal("succeeded");
    expect(sizes()).to.deep.equal([1]);
  });

  it("keep to the rate, which counts tasks", async () => {
    const { sizes, handler } = batchHandler({ max: 4 }, undefined, { rate: { max: 3, per: "500ms" } });
    shop = await openWorkshop([handler]);
    const ids = await submitAll(numbers(6));
    await shop.worker();
    await allEnded(ids);
    expect(sizes()[0]).to.equal(3);
    expect(Math.max(...sizes())).to.be.at.most(3);
  });

  it("have each task once if replies to requests for work are lost", async () => {
    const { calls, handler } = batchHandler({ max: 5 });
    shop = await openWorkshop([handler], { env: { PARTITIONS: "2" } });
    const reserve = shop.engine.leases.reserve.bind(shop.engine.leases);
    let replies = 0;
    shop.engine.leases.reserve = async (request) => {
      const reply = await reserve(request);
      replies += reply.tasks.length > 0 ? 1 : 0;
      if (reply.tasks.length > 0 && replies % 2 === 1) throw new Error("the reply was lost");
      return reply;
    };
    const ids = await submitAll(numbers(20));
    await shop.worker();
    const ended = await allEnded(ids);
    expect(ended.map(({ lost, attempts }) => [lost, attempts])).to.deep.equal(ids.map(() => [0, 1]));
    const seen = calls.flatMap(({ inputs }) => inputs.map(Number));
    expect(seen.sort((a, b) => a - b)).to.deep.equal(numbers(20));
    expect(replies).to.be.above(1);
  });

  it("hand back their tasks to their places if the drain is over before they end", async () => {
    const { calls, handler } = batchHandler({ max: 2, wait: LONG }, () => new Promise(() => undefined));
    shop = await openWorkshop([handler]);
    const worker = await shop.worker({ drainTimeoutMs: 20 });
    const ids = await submitAll([1, 2, 3]);
    await eventually(() => calls.length === 1);
    await worker.stop();
    for (const [index, id] of ids.entries())
      expect(await shop.look(id)).to.include({ state: "waiting", index, attempts: 0, lost: 0 });
  });
});
