import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";

const ROOT = join(import.meta.dirname, "../..");

describe("the threat model", () => {
  const text = readFileSync(join(ROOT, "docs/threat-model.md"), "utf8");
  const rows = text.split("\n").filter((line) => /^\| (?!against|-)/.test(line));
  const shown = rows.flatMap((row) =>
    [...row.matchAll(/(test\/[\w/.-]+\.ts): "([^"]+)"/g)].map((match) => ({ row, match })),
  );

  it("has a test for everything that is defended", () => {
    expect(rows).to.have.length.above(20);
    for (const row of rows) expect(row).to.match(/test\/[\w/.-]+\.test\.ts: "/);
  });

  for (const { match } of shown) {
    const [, file = "", title = ""] = match;
    it(`finds "${title}" in ${file}`, () => {
      expect(existsSync(join(ROOT, file))).to.equal(true);
      expect(readFileSync(join(ROOT, file), "utf8")).to.contain(title);
    });
  }
});
