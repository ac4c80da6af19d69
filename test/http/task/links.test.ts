import { expect } from "chai";
import { pendingLinks, pendingLinksJson, taskPaths } from "../../../src/http/task/links.ts";

describe("the links of a pending task", () => {
  for (const signature of ["", "?expires=1800000000&signature=aZ09-_"]) {
    it(`are the same as text and as objects, ${signature === "" ? "unsigned" : "signed"}`, () => {
      const id = "A-b.c_d~9";
      expect(JSON.parse(pendingLinksJson(taskPaths(id, signature)))).to.deep.equal(pendingLinks(id, signature));
    });
  }
});
