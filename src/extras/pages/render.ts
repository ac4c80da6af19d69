import { readFileSync } from "node:fs";
import type { Context } from "koa";

/** The templates of the pages, read when first asked for. */
const FOLDER = new URL("./", import.meta.url);

/** Nothing but what this server serves itself (CSP Level 3). */
const POLICY = [
  "default-src 'none'",
  ...["script-src 'self'", "style-src 'self'", "connect-src 'self'"],
  ...["base-uri 'none'", "form-action 'none'"],
].join("; ");

const templates = new Map<string, string>();

/** A template, with the common head of all pages inserted. */
function templateOf(name: string): string {
  let html = templates.get(name);
  if (html === undefined) {
    const head = readFileSync(new URL("head.html", FOLDER), "utf8").trim();
    html = readFileSync(new URL(name, FOLDER), "utf8").replace("<!-- head -->", () => head);
    templates.set(name, html);
  }
  return html;
}

/**
 * Answers with a page: the template with `{{name}}` replaced by the values, which are escaped.
 * @param allowed `frames`: origins of pages that may show it in a frame; no others, not even ours. `images`: where images may
 *   come from beside this server
 * @throws Error if the template names a missing value
 */
export function replyPage(
  ctx: Context,
  template: string,
  values: Readonly<Record<string, string>>,
  { frames = [], images = "" }: { frames?: readonly string[]; images?: "" | "data:" | "blob:" } = {},
): void {
  const ancestors = frames.length > 0 ? frames.join(" ") : "'none'";
  ctx.set("Content-Security-Policy", `${POLICY}; ${`img-src 'self' ${images}`.trim()}; frame-ancestors ${ancestors}`);
  // The address of a page may grant access by itself, so it is sent to nobody.
  ctx.set("Referrer-Policy", "no-referrer");
  ctx.type = "text/html; charset=utf-8";
  ctx.body = templateOf(template).replace(/\{\{(\w+)\}\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`${template} needs ${name}`);
    return escapeHtml(value);
  });
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Makes text safe as content and within quoted attributes of HTML. */
function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char);
}
