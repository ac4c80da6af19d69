import { Marked } from "marked";
import { escapeHtml } from "../render.ts";
import { anchorOf } from "./anchor.ts";
import { documentFiles, servedAs } from "./documents.ts";

/**
 * A document in Markdown as HTML. The build renders all of them, so the package that does it is not installed where a server runs.
 */
export function htmlOf(text: string): string {
  return markdown.parse(text, { async: false }) as string;
}

/** The address of the target of a link in a document; undefined if it is not served, such as a file of the checkout. */
function addressOf(href: string): string | undefined {
  if (/^(?:https?:|#)/.test(href)) return href;
  const [path = "", anchor] = href.split("#");
  const file = servedAs(path);
  if (!documentFiles().has(file)) return undefined;
  const name = file.replace(/\.md$/, "");
  return `/docs/${name}${anchor === undefined ? "" : `#${anchor}`}`;
}

/** HTML in documents is shown as text, although the documents are ours. */
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
    // Elements that scroll must be reachable by keyboard.
    code: (code, info) =>
      `<pre tabindex="0"><code class="language-${escapeHtml(info ?? "")}">${escapeHtml(code)}\n</code></pre>\n`,
    table: (header, body) =>
      // Reachable by keyboard, since it scrolls. A corner without a name is not a header.
      `<div class="table" role="group" aria-label="Table" tabindex="0"><table><thead>${header.replaceAll("<th></th>", "<td></td>")}</thead><tbody>${body}</tbody></table></div>\n`,
    html: (html) => escapeHtml(html),
  },
});
