import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { Marked } from "marked";
import { escapeHtml } from "../render.ts";
import { anchorOf } from "./anchor.ts";

/** Where the documents are: at the root of a checkout, of the package, and of an image. */
const ROOT = new URL("../../../../", import.meta.url);
const [DOCS, LLMS] = [new URL("docs/", ROOT), new URL("llms.txt", ROOT)];

/** The index of all documents, and the name under which it is served. */
const INDEX = { file: "README.md", as: "guides" } as const;

/** A document as a page. */
export interface Guide {
  readonly title: string;
  readonly html: string;
}

let files: ReadonlyMap<string, URL> | undefined;
const guides = new Map<string, Guide>();

/** A document by its name, such as `handlers`; undefined if there is none. */
export function guideOf(name: string): Guide | undefined {
  const known = guides.get(name);
  if (known) return known;
  const source = documentFiles().get(`${name}.md`);
  if (source === undefined) return undefined;
  const text = readFileSync(source, "utf8");
  const [, title = name] = /^# (.+)$/m.exec(text) ?? [];
  const guide = { title, html: markdown.parse(text, { async: false }) as string };
  guides.set(name, guide);
  return guide;
}

/** llms.txt with the documents that are served here. */
export function llmsText(): string {
  const lines = readFileSync(LLMS, "utf8").split("\n");
  return lines
    .filter((line) => !/^- \[/.test(line) || /\]\(docs\/[\w-]+\.md\)/.test(line))
    .join("\n")
    .replaceAll("](docs/", "](/docs/")
    .replaceAll(/\[([^[\]]+)\]\((?!\/)[^()]*\)/g, "$1");
}

/** All documents and pictures by the names of their files, which differ in all folders. */
export function documentFiles(): ReadonlyMap<string, URL> {
  files ??= new Map(
    readdirSync(DOCS, { recursive: true, encoding: "utf8" })
      .filter((path) => /\.(?:md|png)$/.test(path))
      .map((path) => [
        path === INDEX.file ? `${INDEX.as}.md` : basename(path),
        new URL(path.replaceAll("\\", "/"), DOCS),
      ]),
  );
  return files;
}

/** The address of what a document links to; undefined for what is not served, such as a file of the checkout. */
function addressOf(href: string): string | undefined {
  if (/^(?:https?:|#)/.test(href)) return href;
  const [path = "", anchor] = href.split("#");
  const file = path === INDEX.file ? `${INDEX.as}.md` : basename(path);
  if (!documentFiles().has(file)) return undefined;
  const name = file.replace(/\.md$/, "");
  return `/docs/${name}${anchor === undefined ? "" : `#${anchor}`}`;
}

/** The documents are our own; HTML in them is shown as text all the same. */
const markdown = new Marked({
  renderer: {
    heading: (text, level, raw) => `<h${level} id="${escapeHtml(anchorOf(raw))}">${text}</h${level}>\n`,
    link(href, _title, text) {
      const address = addressOf(href);
      return address === undefined ? text : `<a href="${escapeHtml(address)}">${text}</a>`;
    },
    image(href, _title, text) {
      const address = addressOf(href);
      const alt = escapeHtml(text);
      return address === undefined ? alt : `<img src="${escapeHtml(address)}" alt="${alt}">`;
    },
    // What scrolls by itself can be reached with the keyboard.
    code: (code, info) =>
      `<pre tabindex="0"><code class="language-${escapeHtml(info ?? "")}">${escapeHtml(code)}\n</code></pre>\n`,
    table: (header, body) =>
      // It scrolls, also by keyboard. A corner without a name heads nothing.
      `<div class="table" role="group" aria-label="Table" tabindex="0"><table><thead>${header.replaceAll("<th></th>", "<td></td>")}</thead><tbody>${body}</tbody></table></div>\n`,
    html: (html) => escapeHtml(html),
  },
});
