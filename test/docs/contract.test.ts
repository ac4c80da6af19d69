import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { ROOT } from "../../testbed/root.ts";
import { findShownTests, SHOWN } from "./shown-tests.ts";

describe("docs/contract.md", () => {
  const text = readFileSync(join(ROOT, "docs/contract.md"), "utf8");
  const rows = text.split("\n").filter((line) => /^\| (?!promise )/.test(line));

  it("names the source of each promise, and a test", () => {
    expect(rows).to.have.length.above(80);
    for (const row of rows) {
      const [, promise = "", source = "", tests = ""] =
        row.split(" | ").length === 3 ? row.split(/^\| | \| | \|$/) : [];
      expect(promise, row).not.to.equal("");
      expect(source, row).not.to.equal("");
      expect(tests.replace(SHOWN, "").replace(/[, ]/g, ""), row).to.equal("");
      expect(tests, row).to.match(/^test\//);
    }
  });

  it("names every file of test/http/contract", () => {
    const files = readdirSync(join(ROOT, "test/http/contract")).filter((name) => name.endsWith(".test.ts"));
    expect(files).to.have.length.above(5);
    for (const name of files) expect(text).to.contain(`test/http/contract/${name}: "`);
  });

  findShownTests(text);
});
