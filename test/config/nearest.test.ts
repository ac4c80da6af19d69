import { expect } from "chai";
import { hint, nearest } from "../../src/config/nearest.ts";

const NAMES = ["timeout", "attempts", "lease", "resultTtl", "rate"];

describe("the name that was probably meant", () => {
  it("is found whatever letter is missing, added, wrong, swapped, or of another case", () => {
    expect(
      ["timout", "timeoutt", "timeoul", "tiemout", "TIMEOUT", "result_ttl"].map((n) => nearest(n, NAMES)),
    ).to.deep.equal(["timeout", "timeout", "timeout", "timeout", "timeout", "resultTtl"]);
  });

  it("is none where no name is like it, or it is too short to tell", () => {
    expect(["concurrency", "x", "", "rates of pay", "t".repeat(100_000)].map((n) => nearest(n, NAMES))).to.deep.equal(
      new Array(5).fill(undefined),
    );
  });

  it("is asked for at the end of an error", () => {
    expect(hint("leas", NAMES)).to.equal('; did you mean "lease"?');
    expect(hint("colour", NAMES)).to.equal("");
  });
});
