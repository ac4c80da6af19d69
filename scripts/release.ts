/**
 * Prepares a release.
 *
 *   npm run release                        prints the notes of what is unreleased
 *   npm run release -- 1.2.0               prints the notes of 1.2.0, if CHANGELOG.md has it; else makes it the next version
 *   npm run release -- 1.2.0 --dry-run     the same, but writes nothing
 *
 * Making a version: CHANGELOG.md, package.json, package-lock.json, the chart and the manifests get it; the notes go to stdout, and what to do next to stderr.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { messageOf } from "../src/errors.ts";
import { isLater, notesOf, released } from "./changelog.ts";

const NEXT = (version: string, prerelease: boolean) => `
Next, when npm test has passed on a clean checkout:
  git commit -am "Release ${version}" && git tag v${version} && git push --follow-tags
  npm publish --provenance --access public${prerelease ? " --tag next" : ""}
  npm run --silent sbom > paihao-${version}.cdx.json    (for the page of the release; the package has it as dist/sbom.cdx.json)
Provenance needs "repository" in package.json, and a CI that npm trusts: CONTRIBUTING.md, "Releases".`;

/** Changes the version in a package.json or package-lock.json, and nothing else. */
function withVersion(json: string, from: string, to: string, times: number): string {
  const parts = json.split(`"version": ${JSON.stringify(from)}`);
  const head = parts.splice(0, times + 1);
  if (head.length !== times + 1) throw new Error(`expected the version ${from} ${times} times`);
  return [head.join(`"version": ${JSON.stringify(to)}`), ...parts].join(`"version": ${JSON.stringify(from)}`);
}

/** The files that deploy this version: the chart, and the manifests made from it. */
function deployed(root: string, from: string, to: string): Record<string, string> {
  const files = ["helm/paihao/Chart.yaml", "kubernetes/api.yaml", "kubernetes/worker.yaml"].map(
    (file) => `deploy/${file}`,
  );
  const there = files.filter((file) => existsSync(join(root, file)));
  return Object.fromEntries(there.map((file) => [file, readFileSync(join(root, file), "utf8").replaceAll(from, to)]));
}

function main(): void {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { "dry-run": { type: "boolean", default: false }, root: { type: "string" } },
  });
  const [version] = positionals;
  const root = values.root ?? resolve(import.meta.dirname, "..");
  const read = (name: string) => readFileSync(join(root, name), "utf8");
  const changelog = read("CHANGELOG.md");
  const notes = notesOf(changelog, version) ?? notesOf(changelog);
  if (notes === undefined) throw new Error("CHANGELOG.md has no such section");
  process.stdout.write(`${notes}\n`);
  if (version === undefined || notesOf(changelog, version) !== undefined) return;

  const { version: current } = JSON.parse(read("package.json"));
  // The first release may have the current version.
  if (version !== current && !isLater(version, current)) throw new Error(`${version} is not later than ${current}`);
  const changed = {
    "CHANGELOG.md": released(changelog, version, new Date().toISOString().slice(0, 10)),
    "package.json": withVersion(read("package.json"), current, version, 1),
    // Of the lock itself, and of this package in it.
    "package-lock.json": withVersion(read("package-lock.json"), current, version, 2),
    ...deployed(root, current, version),
  };
  if (values["dry-run"]) {
    process.stderr.write(`\ndry run: ${Object.keys(changed).join(", ")} would get ${version}; nothing was written\n`);
    return;
  }
  const dirty = execFileSync("git", ["status", "--porcelain"], { cwd: root, encoding: "utf8" });
  if (dirty !== "") throw new Error(`commit first:\n${dirty}`);
  for (const [name, text] of Object.entries(changed)) writeFileSync(join(root, name), text);
  process.stderr.write(`${NEXT(version, version.includes("-"))}\n`);
}

try {
  main();
} catch (error) {
  process.stderr.write(`release: ${messageOf(error)}\n`);
  process.exitCode = 1;
}
