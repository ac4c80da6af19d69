import assert from "node:assert/strict";
import {
  type Costs,
  capacityOf,
  type Deployment,
  placed,
  queuesOf,
  shareLate,
  spreadEvenly,
} from "../../bench/scale/cluster-model.ts";
import { Keys } from "../../src/store/keys.ts";

/** A task of calls of 32 takes 28 µs in all, one that is alone 97 µs. */
const COSTS: Costs = {
  submit: { call: 32, task: 6 },
  run: { call: 32, task: 20 },
  look: { call: 32, task: 10 },
  wake: 50,
  process: { base: 0, partition: 0, queue: 0 },
};
const LINE: Deployment = {
  ...{ masters: 1, masterOf: [0], queues: [{ partition: 0, share: 1 }], processes: 8 },
  ...{ looks: 0, idle: false, batch: 32 },
};
const rateOf = (deployment: Partial<Deployment>, boundMs = 5, costs = COSTS) =>
  capacityOf({ ...LINE, ...deployment }, costs, boundMs).tasksPerSecond;
const near = (actual: number, expected: number, share: number) =>
  assert.ok(Math.abs(actual / expected - 1) <= share, `${actual} is not within ${share * 100} % of ${expected}`);

/** Two partitions for each master, and many queues in them. */
function spread(masters: number, place = spreadEvenly): Partial<Deployment> {
  const keys = new Keys("ph", 2 * masters);
  return { masters, masterOf: place(keys, masters), queues: queuesOf(keys, 5000, () => 1), processes: 8 * masters };
}

describe("the model of a cluster", () => {
  it("lets one line on one master do what its core has time for, if calls may wait for any time", () => {
    near(rateOf({}, Number.POSITIVE_INFINITY), 1e6 / 28, 0.005);
    near(rateOf({ batch: 1 }, Number.POSITIVE_INFINITY), 1e6 / 90, 0.005);
    near(rateOf({ looks: 10 }, Number.POSITIVE_INFINITY), 1e6 / (28 + 10 * 11), 0.005);
  });

  it("lets calls wait as long as in a queue with random arrivals and one server", () => {
    // As many calls find it idle as it has idle time.
    near(shareLate([{ perSecond: 800, micros: 1000 }], 0), 0.8, 0.02);
    assert.equal(shareLate([{ perSecond: 1000, micros: 1000 }], 1e9), 1);
    const [strict, loose] = [rateOf({}, 1), rateOf({}, 20)];
    assert.ok(strict < loose && loose < 1e6 / 28, `${strict}, ${loose}`);
  });

  it("does nearly as many times as much on as many masters that have even loads", () => {
    const one = rateOf(spread(1));
    near(rateOf(spread(3)), 3 * one, 0.05);
    near(rateOf(spread(12)), 12 * one, 0.1);
  });

  it("does no more on many masters where one has all the queues", () => {
    near(rateOf({ masters: 12, masterOf: Array.from({ length: 24 }, () => 0) }), rateOf({}), 0.01);
  });

  it("is held by the busiest master, and says how busy each is", () => {
    const queues = [0, 1].map((partition) => ({ partition, share: partition === 0 ? 0.75 : 0.25 }));
    const { tasksPerSecond, busy } = capacityOf({ ...LINE, masters: 2, masterOf: [0, 1], queues }, COSTS, 5);
    near(tasksPerSecond, rateOf({}) / 0.75, 0.02);
    near(busy[0] ?? 0, 3 * (busy[1] ?? 0), 0.01);
  });

  it("takes from every master what processes cost without work, and what they ask for in vain", () => {
    const process = { base: 0, partition: 10_000, queue: 2500 };
    // Each of eight processes takes 12.5 ms of each second.
    near(rateOf({}, Number.POSITIVE_INFINITY, { ...COSTS, process }), 0.9e6 / 28, 0.005);
    near(rateOf({ idle: true, batch: 1 }, Number.POSITIVE_INFINITY), 1e6 / (90 + 8 * 50), 0.005);
  });

  it("places partitions by the slots of their keys", () => {
    assert.deepEqual(placed(new Keys("ph", 6), 3), [2, 2, 0, 1, 2, 2]);
    assert.deepEqual(spreadEvenly(new Keys("ph", 6), 3), [0, 1, 2, 0, 1, 2]);
  });
});
