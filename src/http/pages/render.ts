import { readFileSync } from "node:fs";
import type { Context } from "koa";
import { type Asset, makeAsset } from "../asset.ts";

/** Where the pages and what belongs to them lie; read when first asked for. */
const FOLDER = new URL("./", import.meta.url);

/** What pages load, each under `/pages/`; nothing else of the folder is served. */
const ASSETS: Readonly<Record<string, string>> = {
  "dashboard.css": "text/css; charset=utf-8",
  "dashboard.js": "text/javascript; charset=utf-8",
  "docs.js": "text/javascript; charset=utf-8",
  "problem.css": "text/css; charset=utf-8",
  "palette.css": "text/css; charset=utf-8",
  "task.css": "text/css; charset=utf-8",
  "task.js": "text/javascript; charset=utf-8",
  "task-output.js": "text/javascript; charset=utf-8",
  "task-result.js": "text/javascript; charset=utf-8",
  "task-words.js": "text/javascript; charset=utf-8",
};

/** Nothing but what this server serves itself (CSP Level 3). */
const POLICY = [
  "default-src 'none'",
  ...["script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self'"],
  ...["base-uri 'none'", "form-action 'none'"],
].join("; ");

const templates = new Map<string, string>();
const assets = new Map<string, Asset>();

/** A file that pages load; undefined for any other name. */
export function assetOf(name: string): Asset | undefined {
  const type = Object.hasOwn(ASSETS, name) ? ASSETS[name] : undefined;
  if (type === undefined) return undefined;
  let asset = assets.get(name);
  if (!asset) {
    asset = makeAsset(type, readFileSync(new URL(name, FOLDER)));
    assets.set(name, asset);
  }
  return asset;
}

/**
 * Answers with a page: the template with `{{name}}` replaced by the values, which are escaped.
 * @param frames origins of pages that may show it in a frame; no others, not even ours
 * @throws Error when the template names a value that is not there
 */
export function replyPage(
  ctx: Context,
  template: string,
  values: Readonly<Record<string, string>>,
  frames: readonly string[] = [],
): void {
  let html = templates.get(template);
  if (html === undefined) {
    html = readFileSync(new URL(template, FOLDER), "utf8");
    templates.set(template, html);
  }
  ctx.set("Content-Security-Policy", `${POLICY}; frame-ancestors ${frames.length > 0 ? frames.join(" ") : "'none'"}`);
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
function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char);
}
