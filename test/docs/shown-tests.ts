import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { ROOT } from "../../testbed/root.ts";

/** A test as a document names it: its file, and its title or a part of that. */
export const SHOWN = /(test\/[\w/.-]+\.test\.ts): "([^"]+)"/g;

/** The titles of tests and groups in a file, with only the constant parts of those that are put together. */
function titlesOf(file: string): string {
  const text = readFileSync(join(ROOT, file), "utf8");
  return [...text.matchAll(/\b(?:it|describe)\(\s*(["'`])((?:(?!\1).)*)\1/g)].map((match) => match[2]).join("\n");
}

/** Tests that each test which a document names exists. */
export function findShownTests(text: string): void {
  const shown = new Map([...text.matchAll(SHOWN)].map((match) => [match[0], match]));
  for (const [, file = "", title = ""] of shown.values()) {
    it(`finds "${title}" in ${file}`, () => {
      expect(existsSync(join(ROOT, file)), file).to.equal(true);
      expect(titlesOf(file)).to.contain(title);
    });
  }
}
