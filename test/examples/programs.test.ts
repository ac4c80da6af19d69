import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { builtSettings } from "../helpers/build.ts";
import { ROOT } from "../shared/root.ts";

const FOLDER = path.join(ROOT, "examples");

/** Runs an example as its README says; returns the lines that it prints. */
async function linesOf(example: string): Promise<string[]> {
  const args = ["--import", "tsx", path.join(FOLDER, example, "main.ts")];
  const env = { ...process.env, TSX_TSCONFIG_PATH: builtSettings() };
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT, env, timeout: 60_000 });
  return stdout.trimEnd().split("\n");
}

/** The lines that the README of an example shows. */
function shownBy(example: string): string[] {
  const text = readFileSync(path.join(FOLDER, example, "README.md"), "utf8");
  return /^```\n(\S.*?)\n```$/ms.exec(text)?.[1]?.split("\n") ?? [];
}

describe("the examples", () => {
  it("import only what the package exports", () => {
    for (const file of readdirSync(FOLDER, { recursive: true, encoding: "utf8" })) {
      if (!/\.[mc]?[jt]s$/.test(file)) continue;
      const text = readFileSync(path.join(FOLDER, file), "utf8");
      for (const [, from = ""] of text.matchAll(/\bfrom "(\.[^"]+|paihao[^"]*)"/g)) {
        if (from.startsWith("paihao")) expect(from, file).to.be.oneOf(["paihao", "paihao/client", "paihao/testing"]);
        else expect(path.join(path.dirname(file), from), file).to.match(/^(?!\.\.)/);
      }
    }
  });
});

describe("an example", function () {
  this.timeout(60_000);

  for (const example of [
    "01-hello",
    "05-fair-shares",
    "06-per-account-order",
    "07-gateway",
    "10-page-digest",
    "11-embeddings",
    "12-by-the-clock",
  ]) {
    it(`${example} prints what its README shows`, async () => {
      const shown = shownBy(example);
      expect(shown).to.not.deep.equal([]);
      expect(await linesOf(example)).to.deep.equal(shown);
    });
  }

  it("08-python-worker has its tasks done in Python", async function () {
    const version = await promisify(execFile)("python3", ["--version"]).catch(() => undefined);
    if (!version) return this.skip();
    const lines = await linesOf("08-python-worker");
    const primes = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29];
    expect(lines.filter((line) => line.startsWith("found"))).to.deep.equal(primes.map((n) => `found ${n}`));
    expect(lines).to.include(primes.join(" "));
  });
});
