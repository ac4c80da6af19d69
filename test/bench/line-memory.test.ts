import assert from "node:assert/strict";
import { predictedBytes } from "../../bench/scale/line-memory.ts";

/** An empty Redis has 1 MB, a task 340 B, and two tables 8 B for each of the next power of two. */
const lineOf = (waiting: number, entries: number) => ({ waiting, bytes: 1e6 + 340 * waiting + 16 * entries });

describe("the predicted memory of a line", () => {
  it("grows with the tasks, and doubles the tables at powers of two", () => {
    const lines = [lineOf(10_000, 2 ** 14), lineOf(100_000, 2 ** 17)];
    assert.equal(predictedBytes(lines, 1_000_000), lineOf(1_000_000, 2 ** 20).bytes);
    assert.equal(predictedBytes(lines, 10_000_000), lineOf(10_000_000, 2 ** 24).bytes);
  });
});
