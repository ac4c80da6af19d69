import { expect } from "chai";
import { pendingLinks, pendingLinksJson, taskLinks } from "../../../src/http/task/links.ts";

describe("the links of a pending task", () => {
  for (const signature of ["", "?expires=1800000000&signature=aZ09-_"]) {
    it(`are the same as text and as objects, ${signature === "" ? "unsigned" : "signed"}`, () => {
      const at = taskLinks("A-b.c_d~9", signature, "/below");
      expect(JSON.parse(pendingLinksJson(at))).to.deep.equal(pendingLinks(at));
    });
  }
});
