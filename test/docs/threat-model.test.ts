import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { ROOT } from "../../testbed/root.ts";
import { findShownTests } from "./shown-tests.ts";

describe("docs/threat-model.md", () => {
  const text = readFileSync(join(ROOT, "docs/threat-model.md"), "utf8");
  const rows = text.split("\n").filter((line) => /^\| (?!against|-)/.test(line));

  it("names a test for every defence", () => {
    expect(rows).to.have.length.above(20);
    for (const row of rows) expect(row).to.match(/test\/[\w/.-]+\.test\.ts: "/);
  });

  findShownTests(text);
});
