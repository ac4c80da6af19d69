import { readFileSync } from "node:fs";
import { expect } from "chai";
import { ERRORS_PAGE, errorsPage } from "../../scripts/errors-page.ts";
import { errorEntries } from "../../src/errors.ts";
import { explain } from "../../src/http/problems/explanation.ts";

describe("docs/errors.md", () => {
  const page = readFileSync(ERRORS_PAGE, "utf8");

  it("is what `npm run docs` writes", () => expect(page).to.equal(errorsPage()));

  it("explains every code: its meaning, what to do, and an example", () => {
    for (const { code, status, title } of errorEntries) {
      const { meaning, action, example } = explain(code);
      for (const text of [meaning, action]) expect(text, code).to.match(/^[A-Z].{20,}\.$/s);
      expect(example, code).to.include({ type: `/problems/${code}`, status, title });
    }
  });
});
