import { expect } from "chai";
import { isAny, namesVersion } from "../../../src/http/request/etag.ts";

/** RFC 9110 §13.1.2 (If-None-Match) and §8.8.3.2 (weak comparison). */
describe("If-None-Match", () => {
  it("matches a version in a list, compared weakly", () => {
    for (const header of ['"a"', 'W/"a"', '"x", "a"', ' "x" ,\t"a" ', '"x,y", "a"', "*", " * ", ', "a",']) {
      expect(namesVersion(header, '"a"'), header).to.equal(true);
    }
  });

  it("matches no other version", () => {
    for (const header of ["", '"b"', "a", '"a', '"x, "a"', 'w/"a"', '"*"', "**", '"a" "b"']) {
      expect(namesVersion(header, '"a"'), header).to.equal(false);
    }
  });

  it("matches any version with *", () => {
    expect(isAny("*")).to.equal(true);
    expect(isAny('"*"')).to.equal(false);
    expect(isAny('*, "a"')).to.equal(false);
  });
});
