/**
 * A guide for language models (https://llmstxt.org): what Paihao is, and every served document of the index with its description.
 * @param readme README.md
 * @param index docs/README.md
 */
export function llmsOf(readme: string, index: string): string {
  const [, title = "", summary = ""] = /^# ([^\n]+)\n\n(.+?)\n\n/s.exec(readme) ?? [];
  const sections = index.split(/^## /m).slice(1);
  return `# ${title}

> ${summary.replaceAll("\n", " ")}

A running server describes its HTTP API at /openapi.json. Every setting is in .env.example.

${sections.map(sectionOf).join("\n\n")}
`;
}

/** A section of the index as a list: an item for each link of a row that leads to a served document. */
function sectionOf(section: string): string {
  const [heading = "", ...lines] = section.trimEnd().split("\n");
  const items = lines.flatMap((line) => {
    const [, cell = "", text = ""] = /^\| (.+?) \| (.+) \|$/.exec(line) ?? [];
    return [...cell.matchAll(/\[([^\]]+)\]\(([\w-]+\.md)\)/g)].map(
      ([, name, file]) => `- [${name}](/docs/${file}): ${text.replaceAll(/\[([^[\]]+)\]\([^()]*\)/g, "$1")}`,
    );
  });
  return `## ${heading}\n\n${items.join("\n")}`;
}
