/**
 * `npm run docs:llms`: writes llms.txt (https://llmstxt.org) from README.md and docs/README.md; a test compares them.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join, posix } from "node:path";
import { ROOT } from "../testbed/root.ts";

/** Where the file is. */
export const LLMS_FILE = join(ROOT, "llms.txt");

/** The text of the file: what Paihao is, and each document of the index with what it says. */
export function llmsText(): string {
  const [, title = "", summary = ""] = /^# ([^\n]+)\n\n(.+?)\n\n/s.exec(read("README.md")) ?? [];
  const sections = read("docs/README.md").split(/^## /m).slice(1);
  return `# ${title}

> ${summary.replaceAll("\n", " ")}

A running server describes its HTTP API at /openapi.json. Every setting is in [.env.example](.env.example).

${sections.map(sectionOf).join("\n\n")}
`;
}

/** A section of the index as a list: an item for each link of a row. */
function sectionOf(section: string): string {
  const [heading = "", ...lines] = section.trimEnd().split("\n");
  const items = lines
    .flatMap((line) => [/^\| (.+?) \| (.+) \|$/.exec(line)])
    .flatMap((row) => {
      const [, cell = "", text = ""] = row ?? [];
      const links = linksOf(cell);
      return links.length > 0
        ? links.map(({ name, path }) => `- [${name}](${path}): ${text}`)
        : linksOf(text).map(({ name, path }) => `- [${name}](${path})`);
    });
  return `## ${heading}\n\n${items.join("\n")}`;
}

function linksOf(text: string): { name: string; path: string }[] {
  return [...text.matchAll(/\[([^\]]+)\]\(([^)]+)\)/g)].map(([, name = "", path = ""]) => ({
    name,
    path: posix.join("docs", path),
  }));
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

if (process.argv[1] === import.meta.filename) writeFileSync(LLMS_FILE, llmsText());
