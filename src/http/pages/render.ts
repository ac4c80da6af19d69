import { readFileSync } from "node:fs";
import type { Context } from "koa";

/** Where the pages lie; read when first asked for. */
const FOLDER = new URL("./", import.meta.url);

/** Nothing but what this server serves itself (CSP Level 3). */
const POLICY = [
  "default-src 'none'",
  ...["script-src 'self'", "style-src 'self'", "connect-src 'self'"],
  ...["base-uri 'none'", "form-action 'none'"],
].join("; ");

const templates = new Map<string, string>();

/**
 * Answers with a page: the template with `{{name}}` replaced by the values, which are escaped.
 * @param allowed `frames`: origins of pages that may show it in a frame; no others, not even ours. `images`: where images may
 *   come from beside this server
 * @throws Error when the template names a value that is not there
 */
export function replyPage(
  ctx: Context,
  template: string,
  values: Readonly<Record<string, string>>,
  { frames = [], images = "" }: { frames?: readonly string[]; images?: "" | "data:" | "blob:" } = {},
): void {
  let html = templates.get(template);
  if (html === undefined) {
    html = readFileSync(new URL(template, FOLDER), "utf8");
    templates.set(template, html);
  }
  const ancestors = frames.length > 0 ? frames.join(" ") : "'none'";
  ctx.set("Content-Security-Policy", `${POLICY}; ${`img-src 'self' ${images}`.trim()}; frame-ancestors ${ancestors}`);
  // The address of a page may be a key in itself: it is told to nobody.
  ctx.set("Referrer-Policy", "no-referrer");
  ctx.set("Cache-Control", "no-store");
  ctx.type = "text/html; charset=utf-8";
  ctx.body = html.replace(/\{\{(\w+)\}\}/g, (_, name: string) => {
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
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char);
}
