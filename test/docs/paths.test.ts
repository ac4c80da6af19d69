import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { ROOT } from "../../testbed/root.ts";

/** A file or folder of the checkout as a document names it; in ARCHITECTURE.md those of src go without that prefix. */
const PATH = /(?<![\w/.:-])((?:[\w.-]+\/)+[\w-]*(?:\.[\w-]+)*)/g;
const FOLDERS = new Set(
  readdirSync(join(ROOT, "src"), { withFileTypes: true }).flatMap((e) => (e.isDirectory() ? [e.name] : [])),
);
const TOP = ["src", "test", "scripts", "bench", "testbed", "docs", "examples", ".ci"];

describe("the paths in documents", () => {
  for (const document of documents()) {
    it(`${document} names only files and folders that exist`, () => {
      // The first line of a block of code says which file of the reader's it is.
      const text = readFileSync(join(ROOT, document), "utf8").replaceAll(/^\/\/ \S+\.ts$/gm, "");
      const absent = [...text.matchAll(PATH)]
        .map(([, path = ""]) => path)
        .filter((path) => isOurs(path) && !isThere(path));
      expect(absent).to.deep.equal([]);
    });
  }

  it("are found by this test's pattern in ARCHITECTURE.md", () => {
    const text = readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8");
    expect([...text.matchAll(PATH)].filter(([, path = ""]) => isOurs(path))).to.have.length.above(20);
  });
});

function documents(): string[] {
  const all = readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" }).map((file) => join("docs", file));
  return ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", ...all.filter((file) => file.endsWith(".md"))];
}

/** Whether it is a path of this project, and not a media type, a route or a package. */
function isOurs(path: string): boolean {
  const [first = ""] = path.split("/");
  return TOP.includes(first) || (FOLDERS.has(first) && /\.\w+$/.test(path));
}

function isThere(path: string): boolean {
  return existsSync(join(ROOT, path)) || existsSync(join(ROOT, "src", path));
}
