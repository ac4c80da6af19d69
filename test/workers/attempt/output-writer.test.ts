import { expect } from "chai";
import type { WriteAnswer } from "../../../src/store/task/attempt.ts";
import { OutputWriter } from "../../../src/workers/attempt/output-writer.ts";

describe("the calls that store what a handler writes", () => {
  /** Writes all values at once; returns how many each call had, and how each value ended. */
  const write = async (values: readonly string[], answer: (sent: readonly string[]) => WriteAnswer) => {
    const calls: number[] = [];
    const writer = new OutputWriter(async (sent) => {
      calls.push(sent.length);
      return answer(sent);
    });
    const ends = await Promise.allSettled(values.map((value) => writer.write(value)));
    return { writer, calls, ends: ends.map((end) => (end.status === "fulfilled" ? end.value : String(end.reason))) };
  };
  const all = (sent: readonly string[]) => sent.length;

  it("have at most 100 values", async () => {
    const { calls, ends } = await write(Array(250).fill("1"), all);
    expect(calls).to.deep.equal([100, 100, 50]);
    expect(new Set(ends)).to.deep.equal(new Set(["ok"]));
  });

  it("have at most 256 KiB, unless a single value is longer", async () => {
    const lengths = [200_000, 62_144, 1, 300_000, 1, 1];
    const { calls } = await write(
      lengths.map((length) => "x".repeat(length)),
      all,
    );
    expect(calls).to.deep.equal([2, 1, 1, 2]);
  });

  it("are followed by one with the values after one for which there was no room", async () => {
    const kept: string[] = [];
    const { calls, ends } = await write(["1", "22", "3", "44", "5"], (sent) => {
      const tooLong = sent.findIndex((value) => value.length > 1);
      const stored = tooLong < 0 ? sent.length : tooLong;
      kept.push(...sent.slice(0, stored));
      return stored;
    });
    expect(calls).to.deep.equal([5, 3, 1]);
    expect(ends).to.deep.equal(["ok", "full", "ok", "full", "ok"]);
    expect(kept).to.deep.equal(["1", "3", "5"]);
  });

  it("fail all their values alone: later ones are sent", async () => {
    let failures = 0;
    const { writer, ends } = await write(["1", "2"], (sent) => {
      failures += 1;
      if (failures === 1) throw new Error("refused");
      return sent.length;
    });
    expect(ends).to.deep.equal(["Error: refused", "Error: refused"]);
    expect(await writer.write("3")).to.equal("ok");
  });
});
