import { expect } from "chai";
import fc from "fast-check";
import { ChurnMap } from "../../src/store/churn-map.ts";

describe("the map for high churn", () => {
  it("behaves like a Map after any number of changes", () => {
    const key = fc.nat({ max: 40 });
    const step = fc.record({ key, act: fc.constantFrom("set", "set", "delete") });
    fc.assert(
      fc.property(fc.array(step, { minLength: 2000, maxLength: 4000 }), (steps) => {
        const [passing, plain] = [new ChurnMap<number, number>(), new Map<number, number>()];
        for (const [n, { key, act }] of steps.entries()) {
          if (act === "set") {
            passing.set(key, n);
            plain.set(key, n);
          } else {
            expect(passing.delete(key)).to.equal(plain.delete(key));
          }
          expect([passing.size, passing.get(key)]).to.deep.equal([plain.size, plain.get(key)]);
        }
        expect([...passing]).to.deep.equal([...plain]);
        expect([[...passing.keys()], [...passing.values()]]).to.deep.equal([[...plain.keys()], [...plain.values()]]);
      }),
      { numRuns: 10 },
    );
  });

  it("keeps all of many entries", () => {
    const passing = new ChurnMap<number, number>();
    for (let n = 0; n < 20_000; n += 1) passing.set(n, n);
    expect(passing.size).to.equal(20_000);
    expect([...passing.values()].every((value, n) => value === n)).to.equal(true);
  });
});
