import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { isLater, notesOf, released } from "../../scripts/changelog.ts";
import { ROOT } from "../shared/root.ts";

const CHANGELOG = `# Changelog

## Unreleased

### Added

- A thing.

## 0.2.0 - 2026-01-31

- Another.
`;

describe("the changelog", () => {
  it("has the notes of each version, and of what is unreleased", () => {
    expect(notesOf(CHANGELOG)).to.equal("### Added\n\n- A thing.");
    expect(notesOf(CHANGELOG, "0.2.0")).to.equal("- Another.");
    expect(notesOf(CHANGELOG, "0.2")).to.equal(undefined);
  });

  it("gets a version for what was unreleased, once", () => {
    const next = released(CHANGELOG, "0.3.0", "2026-02-01");
    expect(notesOf(next)).to.equal("");
    expect(notesOf(next, "0.3.0")).to.equal("### Added\n\n- A thing.");
    expect(() => released(next, "0.4.0", "2026-02-01")).to.throw("no unreleased changes");
    expect(() => released(CHANGELOG, "0.2.0", "2026-02-01")).to.throw("has 0.2.0 already");
  });

  it("orders versions as Semantic Versioning does", () => {
    const order = ["0.9.9", "1.0.0-rc.2", "1.0.0-rc.10", "1.0.0", "1.0.1", "1.10.0", "2.0.0"];
    for (const [i, version] of order.entries()) {
      for (const [j, other] of order.entries())
        expect(isLater(version, other), `${version} > ${other}`).to.equal(i > j);
    }
    expect(() => isLater("1.2", "1.0.0")).to.throw("1.2 is not a version");
  });
});

describe("npm run release", () => {
  const FILES = ["CHANGELOG.md", "package.json", "package-lock.json"];
  let root = "";
  beforeEach(() => {
    root = mkdtempSync(path.join(tmpdir(), "paihao-release-"));
    for (const file of FILES) cpSync(path.join(ROOT, file), path.join(root, file));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  const release = (...args: string[]) =>
    spawnSync(process.execPath, ["--import", "tsx", "scripts/release.ts", "--root", root, ...args], {
      cwd: ROOT,
      encoding: "utf8",
    });
  const text = (file: string) => readFileSync(path.join(root, file), "utf8");

  it("prints the notes of what is unreleased", () => {
    const { stdout, status } = release();
    expect(status).to.equal(0);
    expect(stdout.trim()).to.equal(notesOf(text("CHANGELOG.md")));
  });

  it("says in a dry run what it would write, and writes nothing", () => {
    const before = FILES.map(text);
    const { stdout, stderr, status } = release("99.0.0", "--dry-run");
    expect(status, stderr).to.equal(0);
    expect(stdout).to.contain("###");
    expect(stderr).to.contain("CHANGELOG.md, package.json, package-lock.json would get 99.0.0");
    expect(FILES.map(text)).to.deep.equal(before);
    expect(release("0.0.1", "--dry-run")).to.include({ status: 1, stderr: "release: 0.0.1 is not later than 0.1.0\n" });
  });

  it("makes the version on a clean checkout, and says how it is published", () => {
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=test", "-c", "user.email=test@localhost", ...args], { cwd: root });
    git("init", "--quiet");
    expect(release("99.0.0").stderr).to.contain("commit first");
    git("add", ".");
    git("commit", "--quiet", "-m", "All");
    const { stderr, status } = release("99.0.0");
    expect(status, stderr).to.equal(0);
    expect(stderr).to.contain("npm publish --provenance");
    expect(JSON.parse(text("package.json")).version).to.equal("99.0.0");
    const lock = JSON.parse(text("package-lock.json"));
    expect([lock.version, lock.packages[""].version]).to.deep.equal(["99.0.0", "99.0.0"]);
    expect(notesOf(text("CHANGELOG.md"), "99.0.0")).to.contain("###");
  });
});
