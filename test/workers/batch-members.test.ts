import { expect } from "chai";
import { lossOf } from "../../src/engine/upkeep/tick.ts";
import { batchHandler, LONG } from "../helpers/batch-handler.ts";
import { deferred } from "../helpers/deferred.ts";
import { firing, openWorkshop, passDeadline, type Workshop } from "../helpers/workshop.ts";
import { eventually } from "../shared/eventually.ts";

const HOUR_MS = 3_600_000;

describe("one task of a call with many", () => {
  let shop: Workshop;
  afterEach(() => shop.close());

  /** A call with three tasks that ends when the gate opens; the second of them is to be asked to stop. */
  const begin = async (options: Parameters<typeof batchHandler>[2] = {}) => {
    const gate = deferred();
    const { calls, handler } = batchHandler(
      { max: 3, wait: LONG },
      ({ inputs }) => gate.promise.then(() => inputs),
      // A renewal would come too late to tell it.
      { lease: "10m", ...options },
    );
    shop = await openWorkshop([handler]);
    await shop.worker();
    const ids: string[] = [];
    for (const input of [1, 2, 3]) ids.push(await shop.submit(input, { deadlineMs: HOUR_MS, presenceMs: HOUR_MS }));
    await eventually(() => calls.length === 1);
    const [first = "", second = "", third = ""] = ids;
    const signals = (calls[0]?.tasks ?? []).map(({ signal }) => signal);
    const othersEnd = async () => {
      expect(signals.map(({ aborted }) => aborted)).to.deep.equal([false, true, false]);
      gate.resolve();
      expect([await shop.answer(first), await shop.answer(third)]).to.deep.equal([1, 3]);
    };
    return { calls, second, reason: firing(signals[1] as AbortSignal), othersEnd };
  };

  it("is canceled at its deadline; its signal fires alone, and the results of the others stand", async () => {
    const { second, reason, othersEnd } = await begin();
    await passDeadline(shop, second);
    expect(await reason).to.equal("deadline");
    await othersEnd();
    expect(await shop.ended(second)).to.include({ state: "canceled", errorCode: "deadline-passed" });
  });

  it("is canceled when nobody looks at it any more, and the results of the others stand", async () => {
    const { second, reason, othersEnd } = await begin();
    const redis = await shop.redis();
    const { keys } = shop.engine;
    await redis.zadd(`${keys.start(keys.tag(0), "deadlines")}many`, "XX", 1, second);
    expect(await reason).to.equal("abandoned");
    await othersEnd();
    expect(await shop.ended(second)).to.include({ state: "canceled", errorCode: "abandoned" });
  });

  it("runs again alone if its lease is lost; its late result is refused, and those of the others stand", async () => {
    const { calls, second, reason, othersEnd } = await begin({ lease: "1s" });
    const { tasks } = calls[0] ?? { tasks: [] };
    const lease = { queue: "many", id: second, fence: String(tasks[1]?.fence) };
    await shop.engine.call("lose", { ...lossOf(shop.engine.queues.settings("many")), ...lease });
    expect(await reason).to.equal("lease-lost");
    await othersEnd();
    expect(await shop.ended(second)).to.include({ state: "succeeded", lost: 1, attempts: 1 });
    expect(calls.map(({ inputs }) => inputs)).to.deep.equal([[1, 2, 3], [2]]);
    expect(calls[1]?.tasks[0]?.fence).to.not.equal(tasks[1]?.fence);
  });

  it("has its own output and progress, also if it fails", async () => {
    const { handler } = batchHandler({ max: 2, wait: LONG }, async ({ inputs, tasks }) => {
      await Promise.all(tasks.map((task, n) => task.write(inputs[n])));
      await tasks[1]?.write("more");
      return [new Error("no"), "yes"];
    });
    shop = await openWorkshop([handler]);
    await shop.worker();
    const [one, two] = [await shop.submit("1"), await shop.submit("2")];
    expect((await shop.ended(one)).state).to.equal("failed");
    expect(await shop.answer(two)).to.equal("yes");
    const written = async (id: string) =>
      (await shop.engine.outputs.read({ id, queue: "jobs" }, 0)).values.map(({ json }) => JSON.parse(json) as unknown);
    expect(await written(one)).to.deep.equal(["1"]);
    expect(await written(two)).to.deep.equal(["2", "more"]);
  });
});
