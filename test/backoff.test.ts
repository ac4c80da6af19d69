import { expect } from "chai";
import { backoffMs, varied } from "../src/backoff.ts";

describe("a pause between tries", () => {
  const backoff = { baseMs: 1000, maxMs: 60_000 };

  it("doubles with each try, up to the longest", () => {
    expect([1, 2, 3, 7, 1000].map((attempt) => backoffMs(backoff, attempt))).to.deep.equal([
      ...[1000, 2000, 4000, 60_000, 60_000],
    ]);
  });

  it("is between half and all of that by chance", () => {
    expect([0, 0.5, 1].map((chance) => backoffMs(backoff, 2, chance))).to.deep.equal([1000, 1500, 2000]);
  });
});

describe("a time that varies", () => {
  it("is a fifth shorter or longer at most", () => {
    expect([0, 0.5, 1].map((chance) => Math.round(varied(1000, chance)))).to.deep.equal([800, 1000, 1200]);
    expect(varied(1000)).to.be.within(800, 1200);
  });
});
