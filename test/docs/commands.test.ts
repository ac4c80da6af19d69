import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { ROOT } from "../../testbed/root.ts";

/** Scripts that npm calls by itself. */
const HOOKS = ["prestart", "prepack"];

describe("CONTRIBUTING.md", () => {
  it("names every npm script, and none that does not exist", () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    const text = readFileSync(join(ROOT, "CONTRIBUTING.md"), "utf8");
    const named = [...text.matchAll(/`npm (?:run ([\w:]+)|(start|test)\b)/g)].map(([, run, short]) => run ?? short);
    expect([...new Set(named), ...HOOKS]).to.have.members(Object.keys(scripts));
  });
});
