const UNRELEASED = "Unreleased";

/** The text below the heading of a version, or of the unreleased changes; undefined if there is none. */
export function notesOf(changelog: string, version = UNRELEASED): string | undefined {
  const [, ...sections] = changelog.split(/^## /m);
  const section = sections.find((text) => text.split(/\s/, 1)[0] === version);
  return section?.slice(section.indexOf("\n")).trim();
}

/**
 * The changelog with the unreleased changes turned into a version of a day (`2026-01-31`). @throws Error if there is nothing to
 * release
 */
export function released(changelog: string, version: string, day: string): string {
  if (notesOf(changelog, version) !== undefined) throw new Error(`CHANGELOG.md has ${version} already`);
  if (!notesOf(changelog)) throw new Error("CHANGELOG.md has no unreleased changes");
  return changelog.replace(/^## Unreleased$/m, `## ${UNRELEASED}\n\n## ${version} - ${day}`);
}

/** Whether the first version comes after the second one, by Semantic Versioning 2.0 §11. */
export function isLater(version: string, than: string): boolean {
  const [a, b] = [partsOf(version), partsOf(than)];
  for (const [i, number] of a.numbers.entries()) {
    const other = b.numbers[i] ?? 0;
    if (number !== other) return number > other;
  }
  // A prerelease comes before its release.
  if (a.pre === "" || b.pre === "") return a.pre === "" && b.pre !== "";
  return a.pre.localeCompare(b.pre, "en", { numeric: true }) > 0;
}

function partsOf(version: string): { numbers: number[]; pre: string } {
  const [, major, minor, patch, pre = ""] = /^(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?$/.exec(version) ?? [];
  if (patch === undefined) throw new Error(`${version} is not a version such as 1.2.3 or 1.2.3-rc.1`);
  return { numbers: [major, minor, patch].map(Number), pre };
}
