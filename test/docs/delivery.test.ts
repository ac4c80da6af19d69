import { expect } from "chai";
import { readGuide } from "./guide.ts";
import { findShownTests, SHOWN } from "./shown-tests.ts";

describe("docs/delivery.md", () => {
  const text = readGuide("delivery.md");

  it("names a test for every promise", () => {
    const [, table = ""] = /^## Promises\n(.*?)^All promises/ms.exec(text) ?? [];
    const rows = table.split("\n").filter((line) => /^\| (?!promise )/.test(line));
    expect(rows).to.have.length.above(10);
    for (const row of rows) expect(row).to.match(new RegExp(SHOWN.source));
  });

  findShownTests(text);
});
