import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect } from "chai";
import { LLMS_FILE, llmsText } from "../../scripts/llms.ts";
import { anchorOf } from "../../src/http/pages/docs/anchor.ts";
import { ROOT } from "../../testbed/root.ts";

const MARKDOWN = /\.md$/;
const FOLDERS = ["docs", "examples", "deploy"].filter((folder) => existsSync(join(ROOT, folder)));

describe("the links in documents", () => {
  for (const document of documents()) {
    it(`of ${document} lead somewhere`, () => {
      const dead = linksOf(document).filter((link) => !isAlive(document, link));
      expect(dead).to.deep.equal([]);
    });
  }

  it("of docs/README.md lead to every document in docs", () => {
    const linked = linksOf("docs/README.md").map((link) => join("docs", link.replace(/#.*/, "")));
    const all = documents().filter((path) => path.startsWith("docs/") && path !== "docs/README.md");
    expect(all.filter((path) => !linked.includes(path))).to.deep.equal([]);
  });

  it("of llms.txt are those of docs/README.md: `npm run docs:llms` writes it", () => {
    expect(readFileSync(LLMS_FILE, "utf8")).to.equal(llmsText());
  });

  it("of README.md lead to every guide within two clicks", () => {
    const near = new Set(["README.md", ...targetsOf("README.md")]);
    for (const document of [...near]) for (const target of targetsOf(document)) near.add(target);
    const guides = documents().filter((path) => /^docs\/[\w-]+\.md$/.test(path));
    expect(guides.filter((path) => !near.has(path))).to.deep.equal([]);
  });
});

function documents(): string[] {
  const below = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((file) => join(folder, file)),
  );
  return ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", ...below].filter((path) =>
    MARKDOWN.test(path),
  );
}

/** The links and images of a document that are no URLs. */
function linksOf(document: string): string[] {
  const text = readFileSync(join(ROOT, document), "utf8").replaceAll(/^```.*?^```/gms, "");
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link).filter((link) => !/^[a-z]+:/.test(link));
}

/** The documents to which a document links. */
function targetsOf(document: string): string[] {
  if (!MARKDOWN.test(document)) return [];
  return linksOf(document)
    .map((link) => relative(ROOT, join(ROOT, dirname(document), link.replace(/#.*/, ""))))
    .filter((path) => MARKDOWN.test(path) && existsSync(join(ROOT, path)));
}

function isAlive(document: string, link: string): boolean {
  const [path = "", anchor] = link.split("#");
  const target = path === "" ? join(ROOT, document) : join(ROOT, dirname(document), path);
  if (!existsSync(target)) return false;
  if (anchor === undefined || statSync(target).isDirectory() || !MARKDOWN.test(target)) return true;
  return anchorsOf(readFileSync(target, "utf8")).includes(anchor);
}

/** The anchors of the headings of a document. */
function anchorsOf(text: string): string[] {
  return [...text.replaceAll(/^```.*?^```/gms, "").matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    anchorOf(heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")),
  );
}
