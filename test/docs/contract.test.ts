import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";

const ROOT = join(import.meta.dirname, "../..");
const SHOWN = /(test\/[\w/.-]+\.test\.ts): "([^"]+)"/g;

/** What stands between the quotes of a test's or group's title; in titles that are put together, the constant parts. */
function titlesOf(file: string): string {
  const text = readFileSync(join(ROOT, file), "utf8");
  return [...text.matchAll(/\b(?:it|describe)\(\s*(["'`])((?:(?!\1).)*)\1/g)].map((match) => match[2]).join("\n");
}

describe("docs/contract.md", () => {
  const text = readFileSync(join(ROOT, "docs/contract.md"), "utf8");
  const rows = text.split("\n").filter((line) => /^\| (?!promise )/.test(line));

  it("has of each promise where it comes from, and a test", () => {
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

  it("names every test of the contract's own, file by file", () => {
    const own = readdirSync(join(ROOT, "test/http")).filter((name) => name.startsWith("contract-"));
    for (const name of own) expect(text).to.contain(`test/http/${name}: "`);
  });

  for (const [, file = "", title = ""] of new Map(
    [...text.matchAll(SHOWN)].map((match) => [match[0], match]),
  ).values()) {
    it(`finds "${title}" in ${file}`, () => {
      expect(existsSync(join(ROOT, file)), file).to.equal(true);
      expect(titlesOf(file)).to.contain(title);
    });
  }
});
